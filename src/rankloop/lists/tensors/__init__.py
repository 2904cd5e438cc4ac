"""Gains and discounts of tensors: in torch, and for Triton kernels."""
