"""Versions compared on real people, and how their pages are put together."""
