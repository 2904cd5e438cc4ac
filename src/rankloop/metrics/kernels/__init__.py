"""The arithmetic that metrics share, compiled."""
