"""The discount of DCG in a Triton kernel."""

from rankloop.lists.tensors.jit import jit, tl

__all__ = ["discount_of"]


@jit
def discount_of(rank):  # type: ignore[no-untyped-def]
    """1 / log2(1 + rank) in a Triton kernel, in the precision of the rank."""
    return 1.0 / tl.log2(1.0 + rank)
