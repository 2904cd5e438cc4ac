"""Weights in the format safetensors: a header in JSON, then plain numbers; reading runs no code."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rankloop._json import parse_json

__all__ = ["read_safetensors"]

_TYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "U8": torch.uint8,
}
_LONGEST = 100 << 20  # bytes of a header


def read_safetensors(path: str | Path) -> dict[str, Tensor]:
    """The tensors of a file by name."""
    whole = Path(path).read_bytes()
    try:
        (length,) = struct.unpack_from("<Q", whole)
        if length > min(_LONGEST, len(whole) - 8):
            raise ValueError(f"its header has {length} bytes")
        header = parse_json(whole[8 : 8 + length])
        return {
            name: _tensor(whole, 8 + length, about)
            for name, about in header.items()
            if name != "__metadata__"
        }
    except (struct.error, ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"{path} is damaged or not a safetensors file ({error}); copy it again") from None


def _tensor(whole: bytes, base: int, about: dict[str, Any]) -> Tensor:
    kind, shape = _TYPES[about["dtype"]], [int(size) for size in about["shape"]]
    low, high = about["data_offsets"]
    wanted = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    if not 0 <= low <= high <= len(whole) - base or high - low != wanted or min(shape, default=0) < 0:
        raise ValueError(f"a tensor of {about['dtype']} and shape {shape} has {high - low} bytes")
    if wanted == 0:
        return torch.zeros(shape, dtype=kind)
    values = np.frombuffer(whole, np.uint8, wanted, base + low).copy()
    return torch.from_numpy(values).view(kind).reshape(shape)
