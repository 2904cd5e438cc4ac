"""A BERT layer in half precision on a GPU: kernels for what lies between its matrices."""
