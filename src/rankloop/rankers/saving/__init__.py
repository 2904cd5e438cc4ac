"""Rankers in files: a manifest, arrays and text; no pickle."""
