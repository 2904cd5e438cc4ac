"""A trained cross-encoder: scores, and its parts from a file."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from rankloop._arrays import Floats
from rankloop._progress import progress
from rankloop.rankers.base.ranker import Member
from rankloop.rankers.neural.processes import own_device
from rankloop.rankers.text.fit import chosen_precision, tokens_at_once
from rankloop.rankers.text.lists import pair_batch
from rankloop.rankers.text.model import Pretrained, load_weights, made_of
from rankloop.rankers.text.tokens import Pairs, Tokenizer

if TYPE_CHECKING:
    from rankloop.rankers.text_ranker import TextRanker

__all__ = ["restored", "scored"]

_PAIRS = {"cpu": 1_024, "cuda": 16_384}  # scored between two updates of the progress bar


def scored(ranker: "TextRanker", pairs: Pairs) -> Floats:
    """One score per pair."""
    scorer = ranker.module_.eval()
    device = next(scorer.parameters()).device
    half = chosen_precision(ranker, device) == "bf16"
    made, step = [np.zeros(0)], _PAIRS.get(device.type, 1_024)
    with (
        torch.inference_mode(),
        torch.autocast(device.type, torch.bfloat16, enabled=half),
        progress("scoring", len(pairs) if len(pairs) > 4 * step else None) as advance,
    ):
        for start in range(0, len(pairs), step):
            rows = np.arange(start, min(start + step, len(pairs)))
            part = scorer(pair_batch(pairs, rows, device, tokens_at_once(ranker, device)))
            made.append(part.double().cpu().numpy())
            advance(len(rows), "")
    return np.concatenate(made)


def restored(ranker: "TextRanker", state: Mapping[str, Member], about: dict[str, Any]) -> Pretrained:
    """The cross-encoder of a saved ranker."""
    weights = {
        name.removeprefix("network/"): np.asarray(value)
        for name, value in state.items()
        if name.startswith("network/")
    }
    tokenizer = Tokenizer(str(state["tokenizer"]))
    scorer = made_of(about, ranker.dropout, weights, tokenizer)
    load_weights(scorer, weights)
    return Pretrained(scorer.to(own_device(ranker.device)).eval(), tokenizer, about)
