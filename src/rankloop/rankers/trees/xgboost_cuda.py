"""XGBoost's rounds on a GPU: features, scores, gradients and the metric stay in device memory.

XGBoost's Python package takes device arrays through cupy alone. Its C functions take every array with a CUDA
array interface, as PyTorch's tensors have: two of them are called here.
"""

import ctypes
import json
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from rankloop.data import RankingDataset
from rankloop.losses import redraw
from rankloop.losses.cuda.registry import device_loss
from rankloop.rankers.neural.device_metrics import quality_on
from rankloop.rankers.trees.boosting import Derivatives, Job

__all__ = ["DeviceRounds", "check_device"]

_MARGIN = 1  # the kind of prediction that is a sum of leaves
_SPARE = 2.5  # memory for quantised features, gradients and histograms, in sizes of X


def check_device(xgboost: Any, device: str) -> None:
    """Refuse a device that XGBoost or PyTorch does not have."""
    if not xgboost.build_info().get("USE_CUDA"):
        raise ValueError(
            f"device={device!r} needs XGBoost built with CUDA, and this one is not: "
            "install xgboost in place of xgboost-cpu, or take device='cpu'"
        )
    if not torch.cuda.is_available():
        raise ValueError(f"device is {device!r} but torch finds no CUDA; take device='cpu'")


class DeviceRounds:
    """The training set on the device, and its scores after each round."""

    def __init__(self, xgboost: Any, job: Job) -> None:
        plan, train, valid, derivatives, watch = job
        check_device(xgboost, plan.device)
        self.xgboost, self.device = xgboost, torch.device(plan.device)
        _check_memory(train, valid, self.device)
        self.train, self.valid = self._scored(train), None if valid is None else self._scored(valid)
        self.data = self._quantised(job)
        self.matrices = [self.data]
        self.gradients = None if derivatives is None else _Gradients(derivatives, self.device)
        if valid is not None and watch.objective is not None:
            watch.quality = quality_on(_Lists.of(valid, self.device), watch.objective.metric)

    def begin(self, booster: Any) -> None:
        """Start from the scores of the trees that are there."""
        if before := booster.num_boosted_rounds():
            self._add(booster, 0, before)

    def boost(self, booster: Any, number: int) -> None:
        """Grow one tree and add its scores."""
        if self.gradients is None:
            booster.update(self.data, number)
        else:
            gradient, hessian = self.gradients(self.train.scores)
            torch.cuda.synchronize(self.device)
            booster.boost(self.data, number, grad=gradient, hess=hessian)
        self._add(booster, number, number + 1)

    def seen(self, booster: Any) -> Tensor | None:
        """The scores of the validation set."""
        return None if self.valid is None else self.valid.scores

    def _add(self, booster: Any, first: int, end: int) -> None:
        for scored in (self.train, self.valid):
            if scored is not None:
                scored.scores.add_(_leaves(self.xgboost, booster, scored.X, first, end))

    def _scored(self, data: RankingDataset) -> "_Scored":
        X = torch.as_tensor(np.ascontiguousarray(data.X, np.float32), device=self.device)
        return _Scored(X, torch.zeros(len(X), dtype=torch.float32, device=self.device))

    def _quantised(self, job: Job) -> Any:
        plan, train = job.plan, job.train
        about: dict[str, Any] = {"label": train.y}
        if plan.objective is not None:
            about |= {"group": train.lengths, "weight": train.query_weight}
        if plan.categorical:
            chosen = set(plan.categorical)
            about["feature_types"] = ["c" if i in chosen else "q" for i in range(train.n_features)]
        torch.cuda.synchronize(self.device)
        return self.xgboost.QuantileDMatrix(
            _one_batch(self.xgboost, self.train.X, about),
            max_bin=plan.params.get("max_bin", plan.max_bins),
            enable_categorical=bool(plan.categorical),
            nthread=plan.threads,
        )


class _Scored(NamedTuple):
    """Features of a data set on the device, and the scores of its rows so far."""

    X: Tensor
    scores: Tensor


class _Lists(NamedTuple):
    """What the metric needs of a data set on a device."""

    data: RankingDataset
    device: torch.device
    offsets: Tensor
    weight: Tensor | None

    @classmethod
    def of(cls, data: RankingDataset, device: torch.device) -> "_Lists":
        weight = None if data.item_weight is None else torch.as_tensor(data.item_weight, device=device)
        return cls(data, device, torch.as_tensor(data.offsets, device=device), weight)


class _Gradients:
    """`Derivatives` by the kernels of the device; a loss without one, and bad input, go through the CPU."""

    def __init__(self, derivatives: Derivatives, device: torch.device) -> None:
        self.derivatives, self.checked = derivatives, False
        train, put = derivatives.train, partial(torch.as_tensor, device=device)
        self.labels, self.offsets = put(train.y), put(train.offsets)
        self.weights: dict[str, Any] = {
            "weight": None if train.item_weight is None else put(train.item_weight),
            "query_weight": None if train.query_weight is None else put(train.query_weight),
            "pairs": train.pairs,
        }
        self.row_query = put(train.row_query) if derivatives.share < 1 else None

    def __call__(self, scores: Tensor) -> tuple[Tensor, Tensor]:
        plain = self.derivatives
        found = device_loss(
            redraw(plain.loss, plain.rounds + 1),
            scores,
            self.labels,
            self.offsets,
            valued=False,
            checked=not self.checked,
            **self.weights,
        )
        if found is None:
            return self._on_the_host(scores)
        self.checked = True
        plain.rounds += 1
        gradient, hessian = found.gradient.float(), found.hessian.float()
        if self.row_query is not None:
            kept = torch.as_tensor(plain.drawn(), device=scores.device)[self.row_query]
            gradient, hessian = gradient * kept, hessian * kept
        return gradient.contiguous(), hessian.contiguous()

    def _on_the_host(self, scores: Tensor) -> tuple[Tensor, Tensor]:
        gradient, hessian = self.derivatives(scores.double().cpu().numpy())
        return torch.as_tensor(gradient, device=scores.device), torch.as_tensor(hessian, device=scores.device)


def _check_memory(train: RankingDataset, valid: RankingDataset | None, device: torch.device) -> None:
    rows = train.n_documents * _SPARE + (0 if valid is None else valid.n_documents)
    wanted, (free, _) = 4 * rows * train.n_features, torch.cuda.mem_get_info(device)
    if wanted > free:
        raise ValueError(
            f"these trees need about {wanted / 2**30:.1f} GiB on {device}, which has {free / 2**30:.1f} GiB "
            "free; take fewer rows or features, or device='cpu'"
        )


def _one_batch(xgboost: Any, X: Tensor, about: dict[str, Any]) -> Any:
    """An iterator that hands XGBoost this one tensor, once in each pass."""

    class OneBatch(xgboost.DataIter):  # type: ignore[misc]  # xgboost is Any
        def __init__(self) -> None:
            self.given = False
            super().__init__(release_data=False)

        def next(self, input_data: Any) -> bool:
            if self.given:
                return False
            self.given = True
            _call(xgboost, "XGProxyDMatrixSetDataCudaArrayInterface", self.proxy.handle, _interface(X))
            self.proxy.set_info(**about)
            return True

        def reset(self) -> None:
            self.given = False

    return OneBatch()


def _leaves(xgboost: Any, booster: Any, X: Tensor, first: int, end: int) -> Tensor:
    """The summed leaves of the trees from `first` to before `end`, as a view of XGBoost's own memory."""
    options = {
        "type": _MARGIN,
        "training": False,
        "iteration_begin": first,
        "iteration_end": end,
        "missing": float("nan"),
        "strict_shape": False,
        "cache_id": 0,
    }
    shape, dims, found = (
        ctypes.POINTER(ctypes.c_uint64)(),
        ctypes.c_uint64(),
        ctypes.POINTER(ctypes.c_float)(),
    )
    torch.cuda.synchronize(X.device)
    _call(
        xgboost,
        "XGBoosterPredictFromCudaArray",
        booster.handle,
        _interface(X),
        json.dumps(options).encode(),
        ctypes.c_void_p(),
        ctypes.byref(shape),
        ctypes.byref(dims),
        ctypes.byref(found),
    )
    torch.cuda.synchronize(X.device)
    return torch.as_tensor(_View(ctypes.cast(found, ctypes.c_void_p).value or 0, len(X)), device=X.device)


class _View:
    """Single-precision numbers at an address of the device."""

    def __init__(self, address: int, length: int) -> None:
        self.__cuda_array_interface__ = {
            "data": (address, False),
            "shape": (length,),
            "strides": None,
            "typestr": "<f4",
            "version": 3,
        }


def _interface(X: Tensor) -> bytes:
    return json.dumps(X.__cuda_array_interface__).encode()


def _call(xgboost: Any, name: str, *arguments: Any) -> None:
    """Call a function of XGBoost's C interface; its message becomes the error."""
    library = xgboost.core._LIB
    if getattr(library, name)(*arguments) != 0:
        library.XGBGetLastError.restype = ctypes.c_char_p
        raise xgboost.core.XGBoostError(library.XGBGetLastError().decode(errors="replace"))
