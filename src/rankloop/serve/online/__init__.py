"""Versions that learn while they serve: pages that explore, steps from clicks, the alarm."""
