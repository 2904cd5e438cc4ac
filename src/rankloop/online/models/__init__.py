"""The rankers whose parameters online learners update."""
