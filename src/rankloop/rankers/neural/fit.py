"""From the parameters of a `NeuralRanker` to a trained network."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from rankloop._names import one_of
from rankloop.data import RankingDataset
from rankloop.losses import Loss, loss, settle
from rankloop.metrics import Metric
from rankloop.rankers.base.ranker import Ranker
from rankloop.rankers.neural.batches import DeviceLists, rows_of
from rankloop.rankers.neural.checkpoint import train_from
from rankloop.rankers.neural.device_metrics import quality_on
from rankloop.rankers.neural.input import TRANSFORMS, FeatureTransform
from rankloop.rankers.neural.network import LEVELS, RankingNetwork, make_scorer
from rankloop.rankers.neural.processes import joined, own_device
from rankloop.rankers.neural.training import DivergenceError, Recipe, State, scores_of
from rankloop.rankers.saving.codec import encode

if TYPE_CHECKING:
    from rankloop.rankers.neural_ranker import NeuralRanker

__all__ = ["batch_size", "explained", "fit", "identity_of", "quality_of", "suited_loss"]

_OF_SCORER = {"attention": ("blocks", "heads", "latent_cross"), "groupwise": ("group_size", "permutations")}
_WHOLE = ("blocks", "epochs", "group_size", "heads", "patience", "permutations")
# Parameters that may change when a training is resumed.
_FREE = frozenset({"checkpoint", "device", "epochs", "threads"})


def fit(
    ranker: "NeuralRanker", data: RankingDataset, valid: RankingDataset | None
) -> tuple[RankingNetwork, State]:
    """The trained network, and how the training went."""
    _check(ranker)
    device = own_device(ranker.device)
    recipe = Recipe.of(ranker, loss=suited_loss(ranker.loss, data), batch_documents=batch_size(ranker, data))
    free = _FREE if ranker.schedule == "constant" else _FREE - {"epochs"}
    identity = identity_of(ranker, data, valid, free) if ranker.checkpoint else {}
    path = Path(ranker.checkpoint) if ranker.checkpoint else None
    with explained(path, recipe), joined(device) as processes:
        transform = (
            FeatureTransform.learned(
                ranker.feature_transform, rows_of(data.X), flags=ranker.missing == "flag", device=device
            )
            if ranker.init is None
            else deepcopy(_start(ranker.init, data).transform).to(device)
        )
        # Only pointwise losses depend on the level of the scores; for others it would drift by rounding.
        scorer = make_scorer(ranker, transform.columns, level=recipe.loss.pointwise).to(device)
        if ranker.init is not None:
            _go_on(scorer, ranker.init.module_.scorer)
        dtype = torch.bfloat16 if ranker.precision == "bf16" else torch.float32
        quality = None
        if valid is not None:
            validation = DeviceLists(valid, transform, device, dtype)
            quality = quality_of(scorer, validation, ranker.metric, ranker.precision)
        lists = DeviceLists(data, transform, device, dtype)
        state = train_from(path, identity, scorer, lists, quality, recipe, processes)
    return RankingNetwork(transform, scorer).eval(), state


def _start(init: "NeuralRanker", data: RankingDataset) -> RankingNetwork:
    """The network to go on from."""
    init._check_fitted()
    if init.n_features_in_ != data.n_features:
        raise ValueError(
            f"init was trained on {init.n_features_in_} features and the data have {data.n_features}; "
            "pretrain on the same features"
        )
    return init.module_


def _go_on(scorer: nn.Module, init: nn.Module) -> None:
    """Take the weights of `init`, but for the level, which only some losses have."""
    try:
        missing, surplus = scorer.load_state_dict(init.state_dict(), strict=False)
    except RuntimeError:
        missing, surplus = ["weights of another size"], []
    if {*missing, *surplus} - LEVELS:
        raise ValueError("init has another scorer or other widths than this network; make them alike")


def batch_size(ranker: "NeuralRanker", data: RankingDataset) -> int:
    """The approximate number of documents per batch."""
    if ranker.batch_lists is not None:
        return -(-ranker.batch_lists * data.n_documents // data.n_queries)
    return ranker.batch_documents or min(8192, max(256, data.n_documents // 50))


def _check(ranker: "NeuralRanker") -> None:
    one_of("scorer", ranker.scorer, ("attention", "gam", "groupwise", "mlp"))
    one_of("precision", ranker.precision, ("bf16", "float32"))
    one_of("schedule", ranker.schedule, ("constant", "cosine"))
    one_of("missing", ranker.missing, ("flag", "mean"))
    if ranker.feature_transform is not None:
        one_of("feature_transform", ranker.feature_transform, TRANSFORMS)
    for name in _WHOLE:
        if not getattr(ranker, name) >= 1:
            raise ValueError(f"{name} must be 1 or more, got {getattr(ranker, name)}")
    for name in ("batch_documents", "batch_lists", "threads"):
        if getattr(ranker, name) is not None and not getattr(ranker, name) >= 1:
            raise ValueError(f"{name} must be 1 or more, or None, got {getattr(ranker, name)}")
    for name in ("noise", "seed", "weight_decay"):
        if not getattr(ranker, name) >= 0:
            raise ValueError(f"{name} must be 0 or more, got {getattr(ranker, name)}")
    if not ranker.learning_rate > 0:
        raise ValueError(f"learning_rate must be above 0, got {ranker.learning_rate}")
    if not 0 <= ranker.dropout < 1:
        raise ValueError(f"dropout must be from 0 to below 1, got {ranker.dropout}")
    if ranker.batch_documents is not None and ranker.batch_lists is not None:
        raise ValueError("batches are set by batch_documents or by batch_lists; give one of them")
    usual = type(ranker)()
    for scorer, names in _OF_SCORER.items():
        for name in names:
            if scorer != ranker.scorer and getattr(ranker, name) != getattr(usual, name):
                raise ValueError(
                    f"{name} is for scorer={scorer!r} and the scorer {ranker.scorer!r} would ignore it; "
                    "leave it out or change the scorer"
                )


def suited_loss(given: str | Loss, data: RankingDataset) -> Loss:
    """The loss for this data set: it knows the highest grade, and uses the pairs if there are some."""
    chosen = settle(loss(given), data.y)
    if data.pairs is not None and not chosen.takes_pairs:
        raise ValueError(
            f"the loss {chosen.name} would ignore the pairs of this data set; choose a pairwise loss, or "
            "leave them out with data.replace(pairs=None)"
        )
    return chosen


def quality_of(
    scorer: nn.Module, validation: DeviceLists, metric: str | Metric, precision: str
) -> Callable[[], float]:
    """The quality of the network on the validation set, higher is better."""
    measure = quality_on(validation, metric)

    def quality() -> float:
        reached = measure(scores_of(scorer, validation, precision))
        if isnan(reached):
            raise ValueError(
                f"no query of the validation set has a value of {metric}; "
                "it needs relevant documents, or another metric"
            )
        return reached

    return quality


def identity_of(
    ranker: Ranker, data: RankingDataset, valid: RankingDataset | None, free: frozenset[str]
) -> dict[str, Any]:
    """What identifies this training: its data, and its parameters but those that are `free` to change."""
    parameters = {
        name: encode(value, name, {})
        for name, value in ranker.get_params(deep=False).items()
        if name not in free
    }
    return parameters | {"train": data.fingerprint(), "valid": None if valid is None else valid.fingerprint()}


@contextmanager
def explained(path: Path | None, recipe: Recipe) -> Iterator[None]:
    """Device errors as a sentence that says what to do."""
    try:
        yield
    except DivergenceError as error:
        if path is None or not path.exists():
            raise
        raise DivergenceError(f"{error}; the weights of the last good epoch are in {path}") from None
    except RuntimeError as error:
        message = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        if path is not None and path.exists():
            further = f"the same call continues from the last good checkpoint, {path}"
        else:
            further = "with checkpoint=path the next call would continue from the last good epoch"
        if isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in message:
            batch = (
                f"{recipe.batch_documents} documents"
                if recipe.batch_lists is None
                else f"{recipe.batch_lists} lists"
            )
            raise RuntimeError(
                f"the device ran out of memory with batches of {batch}; make them smaller, or the network "
                f"narrower; {further} ({message})"
            ) from error
        if "CUDA error" in message or "NCCL" in message:
            raise RuntimeError(f"the device was lost ({message}); {further}") from error
        raise
