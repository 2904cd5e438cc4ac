"""Whole pages: one for each kind of result."""
