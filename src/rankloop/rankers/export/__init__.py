"""Rankers in the formats of search engines."""
