"""Features for a network: squashed, standardised, missing values filled, on its device."""

from math import sqrt

import torch
from torch import Tensor, nn

__all__ = ["TRANSFORMS", "FeatureTransform"]

TRANSFORMS = ("log1p", "quantile", "standard")
_CHUNK = 65_536  # rows at a time
_GRID = 129  # points of a feature's distribution that "quantile" keeps
_SAMPLE = 200_000  # rows that they are taken from


class FeatureTransform(nn.Module):
    """Squash, then mean 0 and spread 1 over the training rows; a missing value becomes the mean.

    A feature that did not vary in training is always 0: its weights have learned nothing.

    `"log1p"` is sign(x) log(1 + |x|) (Qin et al., 2021), `"quantile"` the place in the training distribution,
    `"standard"` does not squash, None leaves features as they are and a missing value becomes 0. With
    `flags`, a feature that was missing in training gets a second column that is 1 where it is missing.
    """

    mean: Tensor
    scale: Tensor
    grid: Tensor
    flagged: Tensor

    def __init__(self, kind: str | None, features: int, flagged: int = 0) -> None:
        super().__init__()
        self.kind = kind
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("scale", torch.ones(features))
        self.register_buffer("grid", torch.zeros(features if kind == "quantile" else 0, _GRID))
        self.register_buffer("flagged", torch.zeros(flagged, dtype=torch.int64))

    @classmethod
    def learned(cls, kind: str | None, X: Tensor, *, flags: bool, device: torch.device) -> "FeatureTransform":
        """The transform of these training rows, which stay on the host and are read once."""
        made = cls(kind, X.shape[1]).to(device)
        if kind == "quantile":
            made.grid.copy_(_quantiles(X[:: -(-len(X) // _SAMPLE)].to(device)))
        known, mean, spread = made._moments(X, device)
        if flags:
            made.flagged = (known < len(X)).nonzero().ravel()
        if kind is not None:
            varies = spread > 1e-6 * mean.abs().clamp(min=1e-30)
            made.mean.copy_(mean)
            made.scale.copy_(torch.where(varies, spread, torch.inf))  # becomes 0
        return made

    @property
    def columns(self) -> int:
        """The number of output columns."""
        return len(self.mean) + len(self.flagged)

    def forward(self, X: Tensor) -> Tensor:
        missing = X.isnan()
        Z = ((self._squashed(X) - self.mean) / self.scale).masked_fill(missing, 0.0)
        return torch.cat((Z, missing[:, self.flagged].to(Z.dtype)), 1) if len(self.flagged) else Z

    def _squashed(self, X: Tensor) -> Tensor:
        if self.kind == "log1p":
            return X.sign() * X.abs().log1p()
        return _place(X, self.grid) if self.kind == "quantile" else X

    def _moments(self, X: Tensor, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
        """Count of known values, mean and spread of each squashed column, merged as in Chan et al. (1979)."""
        known, mean, squares = torch.zeros(3, X.shape[1], dtype=torch.float64, device=device)
        for start in range(0, len(X), _CHUNK):
            chunk = self._squashed(X[start : start + _CHUNK].to(device)).double()
            count = (~chunk.isnan()).sum(0).double()
            centre = chunk.nansum(0) / count.clamp(min=1)
            gap, total = centre - mean, (known + count).clamp(min=1)
            squares += chunk.sub_(centre).square_().nansum(0) + gap.square() * known * count / total
            mean += gap * count / total
            known += count
        return known, mean, (squares / known.clamp(min=1)).sqrt()


def _quantiles(X: Tensor) -> Tensor:
    """`_GRID` evenly spaced order statistics of each column, missing values left out."""
    ordered = X.T.contiguous().sort(dim=1).values  # nan comes last
    last = (~ordered.isnan()).sum(1, keepdim=True) - 1
    places = torch.linspace(0, 1, _GRID, dtype=torch.float64, device=X.device)
    index = (places * last.clamp(min=0)).round().long()
    return ordered.gather(1, index).nan_to_num(0.0)


def _place(X: Tensor, grid: Tensor) -> Tensor:
    """The place of a value among the quantiles, from -sqrt(3) to sqrt(3); the middle of equal ones."""
    columns = X.T.contiguous()
    left = torch.searchsorted(grid, columns, right=False)
    right = torch.searchsorted(grid, columns, right=True)
    low, high = (left - 1).clamp(0, _GRID - 1), left.clamp(max=_GRID - 1)
    below, above = grid.gather(1, low), grid.gather(1, high)
    between = low + (columns - below) / (above - below).clamp(min=1e-30)
    place = torch.where(right > left, (left + right - 1).to(X.dtype) / 2, between).clamp(0, _GRID - 1)
    return ((place / (_GRID - 1) - 0.5) * sqrt(12)).T
