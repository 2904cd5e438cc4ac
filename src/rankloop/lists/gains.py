"""The gains of labels."""

from rankloop._arrays import Floats, Singles
from rankloop.lists.gain import Gain, GainOption

__all__ = ["gains"]


def gains(labels: Singles, option: GainOption) -> Floats:
    """`2^label - 1` ("exp2"), the label itself ("linear"), or the entry of a table.

    `rankloop.lists.tensors.gains` has the same for torch.

    >>> import numpy as np
    >>> gains(np.array([0, 1, 3], np.float32), "exp2")
    array([0., 1., 7.])
    """
    return Gain.of(option, labels)(labels)
