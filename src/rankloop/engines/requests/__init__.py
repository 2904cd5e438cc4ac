"""Queries, schemas and documents in the words of each engine."""
