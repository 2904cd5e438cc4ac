"""What `benchmarks/auto.py` is made of: the sets, and the tree libraries tuned as their users tune them."""
