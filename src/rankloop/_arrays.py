"""Names for the arrays that kernels and signatures share."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Bools", "Bytes", "Floats", "Ints", "Ints32", "Singles"]

Array = NDArray[Any]
Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Ints32 = NDArray[np.int32]
Singles = NDArray[np.float32]
