"""Networks: scorers, batches, training, in PyTorch."""
