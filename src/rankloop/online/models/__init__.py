"""The rankers that online learners move."""
