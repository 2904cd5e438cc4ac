"""The training loop of a network: any loss, early stopping, best weights kept."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import partial
from itertools import islice
from math import cos, isfinite, pi
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rankloop._names import unknown
from rankloop._progress import progress
from rankloop.losses import Loss, redraw, torch_loss
from rankloop.rankers.neural.batches import Batch, DeviceLists
from rankloop.rankers.neural.captured import CapturedSteps, Work, can_capture
from rankloop.rankers.neural.fused_mlp import FusedSteps, can_fuse
from rankloop.rankers.neural.gam import GAM
from rankloop.rankers.neural.network import MLP
from rankloop.rankers.neural.processes import Processes

__all__ = ["DivergenceError", "Recipe", "State", "scores_of", "train"]

_OPTIMIZERS: dict[str, type[torch.optim.Optimizer]] = {
    "adagrad": torch.optim.Adagrad,
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "sgd": torch.optim.SGD,
}

Weights = dict[str, Tensor]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a network is trained; the parameters of `NeuralRanker` and `TextRanker`.

    A step follows `accumulate` batches, whose gradients are added up. The schedule "linear" changes the rate
    at every step: up over the share `warmup` of the training, then down to 0.
    """

    loss: Loss
    optimizer: str
    learning_rate: float
    weight_decay: float
    schedule: str
    noise: float
    epochs: int
    batch_documents: int
    batch_lists: int | None
    precision: str
    patience: int
    seed: int
    accumulate: int = 1
    warmup: float = 0.0

    @classmethod
    def of(cls, ranker: object, **chosen: Any) -> "Recipe":
        """The parameters of a ranker by their names; `chosen` are those that it does not have as they are."""
        names = [one.name for one in fields(cls) if one.name not in chosen and hasattr(ranker, one.name)]
        return cls(**{name: getattr(ranker, name) for name in names}, **chosen)

    def rate(self, epoch: float) -> float:
        if self.schedule == "linear":
            done = epoch / self.epochs
            return self.learning_rate * min(done / max(self.warmup, 1e-9), (1 - done) / (1 - self.warmup))
        if self.schedule == "cosine":
            return self.learning_rate * (1 + cos(pi * epoch / self.epochs)) / 2
        return self.learning_rate


@dataclass(slots=True)
class State:
    """The state of a training after `epoch` epochs: the content of a checkpoint."""

    weights: Weights
    moments: dict[int, dict[str, Any]]  # the state of the optimizer by parameter
    epoch: int = 0
    best: Weights = field(default_factory=dict)
    best_epoch: int = 0
    losses: list[float] = field(default_factory=list)
    qualities: list[float] = field(default_factory=list)


def train(
    scorer: nn.Module,
    lists: DeviceLists,
    quality: Callable[[], float] | None,
    recipe: Recipe,
    processes: Processes,
    *,
    resumed: State | None,
    keep: Callable[[State], None],
) -> State:
    """Train for the epochs or until the patience ends; the scorer then has the best weights.

    `quality` measures the scorer, higher is better; `keep` gets the state after each epoch.
    """
    device = lists.device
    optimizer = _optimizer(scorer, recipe, device)
    state = State(scorer.state_dict(), optimizer.state_dict()["state"])
    if resumed is not None:
        state = resumed
        scorer.load_state_dict(state.weights)
        optimizer.load_state_dict({**optimizer.state_dict(), "state": state.moments})
    steps = None if processes.count > 1 else _captured(scorer, lists, recipe, optimizer)
    with _own_random_numbers(device), progress("training", total=recipe.epochs) as advance:
        advance(state.epoch)
        while state.epoch < recipe.epochs and state.epoch - state.best_epoch < recipe.patience:
            loss = _epoch(scorer, optimizer, lists, recipe, processes, state.epoch, steps)
            if not (isfinite(loss) and _finite(scorer)):
                raise diverged(recipe, state.epoch)
            state.epoch += 1
            state.losses.append(loss)
            state.weights, state.moments = scorer.state_dict(), optimizer.state_dict()["state"]
            if quality is None:
                state.best_epoch = state.epoch
            else:
                reached = processes.agreed(quality(), device)
                state.qualities.append(reached)
                if reached >= max(state.qualities):
                    state.best = {name: value.clone() for name, value in state.weights.items()}
                    state.best_epoch = state.epoch
            keep(state)
            advance(1, f"loss {loss:.4g}" if quality is None else f"valid {abs(reached):.4f}")
    if state.best:
        scorer.load_state_dict(state.best)
    return state


def _captured(
    scorer: nn.Module, lists: DeviceLists, recipe: Recipe, optimizer: torch.optim.Optimizer
) -> CapturedSteps | None:
    """Steps as CUDA graphs, where loss, optimizer and network allow it."""
    if recipe.accumulate > 1 or not can_capture(lists, recipe.loss, optimizer):
        return None
    kind: Callable[..., CapturedSteps] | None = CapturedSteps
    if can_fuse(scorer, recipe.precision, recipe.noise):
        kind = partial(FusedSteps, scorer=scorer)
    elif not isinstance(scorer, MLP | GAM):
        kind = lists.captured_by(scorer, recipe.precision)
    if kind is None:
        return None
    score = partial(_scores, scorer, recipe=recipe, device=lists.device)
    return kind(Work(lists, recipe.loss, optimizer, score))


def scores_of(scorer: nn.Module, lists: DeviceLists, precision: str) -> Tensor:
    """The scores of all rows, in double precision on the device of the network."""
    scorer.eval()
    with torch.inference_mode(), _precise(precision, lists.device):
        parts = [scorer(Z, offsets).double() for Z, offsets in lists.in_order()]
    return torch.cat(parts)


class DivergenceError(ValueError):
    """Losses or weights are no longer finite."""


def diverged(recipe: Recipe, epoch: int) -> DivergenceError:
    return DivergenceError(
        f"training diverged in epoch {epoch + 1}: the loss is no longer a finite number; lower learning_rate "
        f"({recipe.learning_rate:g}), or squash features of extreme size with feature_transform='log1p'"
    )


def _epoch(
    scorer: nn.Module,
    optimizer: torch.optim.Optimizer,
    lists: DeviceLists,
    recipe: Recipe,
    processes: Processes,
    epoch: int,
    steps: CapturedSteps | None,
) -> float:
    """One pass over the lists; the mean loss of a list."""
    device = lists.device
    scorer.train()
    _set_rate(optimizer, recipe.rate(epoch))
    # Random numbers of an epoch depend on the seed and its number only: a resumed training is the same.
    torch.manual_seed(_mixed(recipe.seed, epoch, 1 + processes.rank))

    def order_of(epoch: int) -> Tensor:
        shuffle = torch.Generator(device).manual_seed(_mixed(recipe.seed, epoch))
        return torch.randperm(lists.data.n_queries, generator=shuffle, device=device)

    def set_rate(seen: float) -> None:
        if recipe.schedule == "linear":
            _set_rate(optimizer, recipe.rate(epoch + seen / lists.data.n_queries))

    if steps is not None:
        summed = steps.epoch(epoch, order_of, recipe.batch_documents, recipe.batch_lists, set_rate)
        return float(summed) / lists.data.n_queries
    total = torch.zeros((), dtype=torch.float64, device=device)
    part = (processes.rank, processes.count)
    batches = enumerate(lists.epoch(order_of(epoch), recipe.batch_documents, recipe.batch_lists, part))
    done = 0
    while together := list(islice(batches, recipe.accumulate)):
        optimizer.zero_grad(set_to_none=True)
        count = sum(batch.lists for _, batch in together)
        for step, batch in together:
            if len(batch.offsets) > 1:
                chosen = redraw(recipe.loss, _mixed(epoch, step))
                summed = _loss(scorer, batch, chosen, recipe, device, epoch)
                torch.autograd.backward(summed / count)
                total += summed.detach()
        processes.sum_gradients(scorer.parameters())
        set_rate(done + count / 2)
        optimizer.step()
        done += count
    return float(processes.summed(total)) / lists.data.n_queries


def _set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate


def _loss(
    scorer: nn.Module, batch: Batch, chosen: Loss, recipe: Recipe, device: torch.device, epoch: int
) -> Tensor:
    """The sum over the lists of a batch."""
    scores = _scores(scorer, batch, recipe, device)
    try:
        values: Tensor = torch_loss(chosen)(
            scores,
            batch.labels,
            batch.offsets,
            weight=batch.weight,
            query_weight=batch.query_weight,
            pairs=batch.pairs,
        )
    except ValueError:
        if bool(scores.isfinite().all()):
            raise
        raise diverged(recipe, epoch) from None
    return values.sum()


def _scores(scorer: nn.Module, batch: Batch, recipe: Recipe, device: torch.device) -> Tensor:
    Z = batch.Z
    if recipe.noise:
        Z = Z + recipe.noise * torch.randn_like(Z)
    with _precise(recipe.precision, device):
        scores: Tensor = scorer(Z, batch.offsets)
    return scores.float()


def _finite(scorer: nn.Module) -> bool:
    """Whether all weights are finite: the losses do not show the last step of an epoch."""
    return bool(torch.stack([p.detach().isfinite().all() for p in scorer.parameters()]).all())


def _optimizer(scorer: nn.Module, recipe: Recipe, device: torch.device) -> torch.optim.Optimizer:
    if recipe.optimizer not in _OPTIMIZERS:
        raise unknown("optimizer", recipe.optimizer, _OPTIMIZERS)
    options: dict[str, Any] = {"lr": recipe.learning_rate, "weight_decay": recipe.weight_decay}
    if device.type == "cuda" and recipe.optimizer != "adagrad":
        options["fused"] = True
    if device.type == "cuda" and recipe.optimizer in ("adam", "adamw"):  # for CUDA graphs
        options["capturable"] = True
        options["lr"] = torch.tensor(recipe.learning_rate, device=device)
    if recipe.optimizer == "sgd":
        options["momentum"] = 0.9
    return _OPTIMIZERS[recipe.optimizer](scorer.parameters(), **options)


def _precise(precision: str, device: torch.device) -> torch.autocast:
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16")


@contextmanager
def _own_random_numbers(device: torch.device) -> Iterator[None]:
    """Random numbers that do not change the state of the user's generators."""
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        yield


def _mixed(*numbers: int) -> int:
    return int(np.random.SeedSequence(list(numbers)).generate_state(1)[0])
