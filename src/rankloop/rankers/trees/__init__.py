"""Boosted trees: the backends that grow them, and our own scorer that serves them."""
