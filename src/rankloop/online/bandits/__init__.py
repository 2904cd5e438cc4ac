"""What the bandits over rankers share."""
