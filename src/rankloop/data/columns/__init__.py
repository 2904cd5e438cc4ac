"""Checks of columns, and rows grouped into queries."""
