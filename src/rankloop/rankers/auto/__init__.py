"""What `AutoRanker` is made of: views of the features, candidates, the clock, bags and the stack."""
