"""From the parameters of a `TextRanker` to a trained cross-encoder."""

from pathlib import Path
from typing import TYPE_CHECKING

import torch

from rankloop._names import one_of
from rankloop.data import RankingDataset
from rankloop.rankers.neural.checkpoint import train_from
from rankloop.rankers.neural.fit import explained, identity_of, quality_of, suited_loss
from rankloop.rankers.neural.processes import joined, own_device
from rankloop.rankers.neural.training import Recipe, State
from rankloop.rankers.text.documents import texts_of
from rankloop.rankers.text.lists import TextLists
from rankloop.rankers.text.model import Pretrained, open_model
from rankloop.rankers.text.tokens import Pairs, Tokenizer

if TYPE_CHECKING:
    from rankloop.rankers.text_ranker import TextRanker

__all__ = ["chosen_precision", "fit", "pairs_of", "recipe_of", "tokens_at_once"]

# Parameters that may change when a training is resumed; the documents are known by their ids alone.
_FREE = frozenset({"device", "documents", "resume", "threads", "tokens_at_once"})
_WHOLE = ("accumulate", "batch_documents", "batch_lists", "epochs", "patience", "threads", "tokens_at_once")


def fit(ranker: "TextRanker", data: RankingDataset, valid: RankingDataset | None) -> tuple[Pretrained, State]:
    """The trained cross-encoder, and how the training went."""
    _check(ranker)
    device = own_device(ranker.device)
    recipe = recipe_of(ranker, data, device)
    identity = identity_of(ranker, data, valid, _FREE) if ranker.resume else {}
    path = Path(ranker.resume) if ranker.resume else None
    model = open_model(ranker.checkpoint, dropout=ranker.dropout, seed=ranker.seed)
    at_once = tokens_at_once(ranker, device)
    with explained(path, recipe), joined(device) as processes:
        scorer = model.scorer.to(device)
        lists = TextLists(data, pairs_of(ranker, data, model.tokenizer), device, at_once)
        quality = None
        if valid is not None:
            held_out = TextLists(valid, pairs_of(ranker, valid, model.tokenizer), device, at_once)
            quality = quality_of(scorer, held_out, ranker.metric, recipe.precision)
        state = train_from(path, identity, scorer, lists, quality, recipe, processes)
    scorer.eval()
    return model, state


def pairs_of(ranker: "TextRanker", data: RankingDataset, tokenizer: Tokenizer) -> Pairs:
    """The rows of a data set as pairs of texts."""
    return Pairs(tokenizer, *texts_of(data, ranker.documents, ranker.fields), limit=ranker.tokens)


def chosen_precision(ranker: "TextRanker", device: torch.device) -> str:
    """bf16 on CUDA, single precision on a CPU, unless given."""
    one_of("precision", ranker.precision, ("auto", "bf16", "float32"))
    if ranker.precision != "auto":
        return ranker.precision
    return "bf16" if device.type == "cuda" else "float32"


def tokens_at_once(ranker: "TextRanker", device: torch.device) -> int:
    """Tokens whose activations are kept at a time: what a GPU or a small machine has memory for."""
    return ranker.tokens_at_once or (262_144 if device.type == "cuda" else 16_384)


def _check(ranker: "TextRanker") -> None:
    one_of("schedule", ranker.schedule, ("constant", "linear"))
    for name in _WHOLE:
        given = getattr(ranker, name)
        if given is not None and not given >= 1:
            raise ValueError(f"{name} must be 1 or more, got {given}")
    if not ranker.learning_rate > 0:
        raise ValueError(f"learning_rate must be above 0, got {ranker.learning_rate}")
    for name in ("dropout", "warmup"):
        if not 0 <= getattr(ranker, name) < 1:
            raise ValueError(f"{name} must be from 0 to below 1, got {getattr(ranker, name)}")
    for name in ("seed", "weight_decay"):
        if not getattr(ranker, name) >= 0:
            raise ValueError(f"{name} must be 0 or more, got {getattr(ranker, name)}")


def recipe_of(ranker: "TextRanker", data: RankingDataset, device: torch.device) -> Recipe:
    """How this ranker is trained on this data."""
    return Recipe.of(
        ranker,
        loss=suited_loss(ranker.loss, data),
        optimizer="adamw",
        noise=0.0,
        precision=chosen_precision(ranker, device),
    )
