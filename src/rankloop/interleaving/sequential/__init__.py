"""Tests that hold at every look: running means over people, and the boundaries they must cross."""
