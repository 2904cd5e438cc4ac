"""Learning from the clicks of a window, behind a gate."""
