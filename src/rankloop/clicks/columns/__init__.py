"""Columns of a click log: checks, frames, grouping into pages."""
