"""RankSVM and the optimisers behind it."""
