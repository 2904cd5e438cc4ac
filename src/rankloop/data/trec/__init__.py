"""Text lines with a query, a document and a number each: what judgments and runs share."""
