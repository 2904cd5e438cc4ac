"""From text to terms and back: analysis, the query language, snippets."""
