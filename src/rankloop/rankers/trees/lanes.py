"""Sixty-four documents at once: two vector operations that numba cannot express.

Both are LLVM vectors, which LLVM compiles to the widest instructions of the processor.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils as _cgutils
from numba.extending import intrinsic

__all__ = ["LANES", "exits", "over"]

LANES = 64

cgutils: Any = _cgutils  # untyped in numba
_BYTE, _WORD = ir.IntType(8), ir.IntType(LANES)
_BYTES, _MASK = ir.VectorType(_BYTE, LANES), ir.VectorType(ir.IntType(1), LANES)

Codegen = Callable[[Any, Any, Any, Any], Any]


def _over(typing: Any, bins: Any, first: Any, edge: Any) -> tuple[Any, Codegen]:
    """`over(bins, first, edge)`: bit d of the word says whether bins[first + d] > edge."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array, start, limit = args
        values = builder.load(_address(context, builder, signature.args[0], array, start, _BYTES), align=1)
        above = builder.icmp_unsigned(">", values, _all(builder, builder.trunc(limit, _BYTE)))
        word = builder.bitcast(above, _WORD)
        # No instruction, but the word must lie in a general register: LLVM would keep it in a mask register,
        # where storing it takes twice as long (on AVX-512; elsewhere nothing changes).
        return builder.asm(ir.FunctionType(_WORD, [_WORD]), "", "=r,0", [word], False)

    return types.int64(bins, types.int64, types.int64), codegen


over: Callable[..., int] = intrinsic(_over)


def _exits(typing: Any, reached: Any, first: Any, count: Any, out: Any) -> tuple[Any, Codegen]:
    """`exits(reached, first, count, out)`: out[d] = the i < count whose word reached[first + i] has bit d."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        words, start, leaves, result = args
        found = cgutils.alloca_once(builder, _BYTES)
        builder.store(ir.Constant(_BYTES, None), found)
        with cgutils.for_range(builder, leaves) as leaf:
            at = builder.add(start, leaf.index)
            word = builder.load(_address(context, builder, signature.args[0], words, at, _WORD))
            here = builder.bitcast(word, _MASK)
            number = _all(builder, builder.trunc(leaf.index, _BYTE))
            builder.store(builder.select(here, number, builder.load(found)), found)
        zero = ir.Constant(ir.IntType(64), 0)
        target = _address(context, builder, signature.args[3], result, zero, _BYTES)
        builder.store(builder.load(found), target, align=1)
        return context.get_dummy_value()

    return types.void(reached, types.int64, types.int64, out), codegen


exits: Callable[..., None] = intrinsic(_exits)


def _address(context: Any, builder: Any, kind: Any, array: Any, index: Any, wanted: Any) -> Any:
    data = context.make_array(kind)(context, builder, value=array).data
    return builder.bitcast(builder.gep(data, [index]), wanted.as_pointer())


def _all(builder: Any, byte: Any) -> Any:
    """A vector of the same byte."""
    one = builder.insert_element(ir.Constant(_BYTES, ir.Undefined), byte, ir.Constant(ir.IntType(32), 0))
    order = ir.Constant(ir.VectorType(ir.IntType(32), LANES), None)
    return builder.shuffle_vector(one, ir.Constant(_BYTES, ir.Undefined), order)
