"""Weights in the format safetensors: a header in JSON, then plain numbers; reading runs no code."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rankloop._atomic import replacing
from rankloop._json import parse_json

__all__ = ["read_safetensors", "write_safetensors"]

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


def write_safetensors(path: str | Path, tensors: dict[str, Tensor]) -> None:
    """Write tensors of single or half precision, whole or not at all.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "two.safetensors"
    >>> write_safetensors(path, {"two": torch.tensor([1.0, 2.0])})
    >>> read_safetensors(path)
    {'two': tensor([1., 2.])}
    """
    names = {kind: name for name, kind in _TYPES.items()}
    header: dict[str, Any] = {}
    parts, end = [], 0
    for name, value in tensors.items():
        plain = value.detach().cpu().contiguous()
        raw = plain.reshape(-1).view(torch.uint8).numpy().tobytes()
        header[name] = {
            "dtype": names[plain.dtype],
            "shape": list(plain.shape),
            "data_offsets": [end, end + len(raw)],
        }
        parts.append(raw)
        end += len(raw)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with replacing(path) as beside, beside.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for raw in parts:
            file.write(raw)


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
