"""The base of smooth losses that tell relevant documents from others."""

from dataclasses import dataclass

from rankloop.losses.kernels.options import positive
from rankloop.losses.loss import Loss

__all__ = ["Thresholded"]


@dataclass(frozen=True)
class Thresholded(Loss):
    """Labels from `relevance_threshold` on are relevant; a small `temperature` is close to the hard order."""

    temperature: float = 0.1
    relevance_threshold: float = 1.0

    def __post_init__(self) -> None:
        positive(self, temperature=self.temperature, relevance_threshold=self.relevance_threshold)
