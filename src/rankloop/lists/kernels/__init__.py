"""Sorting and selection within lists, compiled."""
