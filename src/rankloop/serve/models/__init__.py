"""Versions of rankers: the registry, and those that serve now."""
