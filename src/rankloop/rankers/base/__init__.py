"""What every ranker is, and what several of them share."""
