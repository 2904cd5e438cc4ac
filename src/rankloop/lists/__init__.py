"""Lists of documents as flat arrays and offsets: ranks, ties, gains, discounts, sums; one of each."""
