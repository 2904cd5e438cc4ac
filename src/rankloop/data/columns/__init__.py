"""Columns of a data set: what they must be, and rows grouped into queries."""
