"""Losses on CUDA tensors: fused Triton kernels, memory linear in the documents."""
