"""Where the tests of Triton kernels run: on CUDA where there is some, else by Triton's interpreter."""

import os
from importlib.util import find_spec

import pytest
import torch

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
HALF = torch.bfloat16 if DEVICE.type == "cuda" else torch.float16  # the interpreter multiplies no bf16
RUNS = find_spec("triton") is not None and (DEVICE.type == "cuda" or INTERPRETED)
needs_kernels = pytest.mark.skipif(not RUNS, reason="no CUDA, and no Triton with TRITON_INTERPRET=1")
needs_cuda = pytest.mark.skipif(DEVICE.type != "cuda", reason="no CUDA")
