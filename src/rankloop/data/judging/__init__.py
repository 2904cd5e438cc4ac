"""The formats of judgments, one reader and one writer each."""
