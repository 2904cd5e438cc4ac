"""Backups of a service: everything in one folder with checksums, made while it serves."""
