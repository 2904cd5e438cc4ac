"""Features of queries and documents, all candidates at once."""
