"""Models of other kinds than BERT, through transformers: its network, on padded batches."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from rankloop._extras import require
from rankloop._warn import warn
from rankloop.rankers.text.lists import Chunk, PairBatch

__all__ = ["PaddedTransformer", "made_transformer", "open_transformer"]


class PaddedTransformer(nn.Module):
    """Scores of pairs by a network of transformers with one output."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network
        self.types = int(getattr(network.config, "type_vocab_size", 0) or 0) > 1

    def forward(self, batch: PairBatch, offsets: Tensor | None = None) -> Tensor:
        if not batch.chunks:
            return torch.zeros(0, device=batch.back.device)
        return torch.cat([self._scores(chunk) for chunk in batch.chunks])[batch.back]

    def _scores(self, chunk: Chunk) -> Tensor:
        edges, longest = chunk.packed.edges.long(), chunk.packed.longest
        row = torch.repeat_interleave(edges.diff(), output_size=len(chunk.tokens))
        pad = self.network.config.pad_token_id or 0
        ids = torch.full((len(edges) - 1, longest), pad, dtype=torch.long, device=edges.device)
        mask, types = torch.zeros_like(ids), torch.zeros_like(ids)
        ids[row, chunk.places], mask[row, chunk.places] = chunk.tokens, 1
        types[row, chunk.places] = chunk.types
        given = {"token_type_ids": types} if self.types else {}
        made: Tensor = self.network(input_ids=ids, attention_mask=mask, **given).logits.squeeze(-1)
        return made


def open_transformer(folder: Path, dropout: float, seed: int) -> PaddedTransformer:
    """The network of a folder; says that it is padded."""
    transformers = require("transformers", "encoders")
    warn(f"{folder} is not a BERT: it runs through transformers, on padded batches, more slowly")
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        network = transformers.AutoModelForSequenceClassification.from_pretrained(
            folder, num_labels=1, local_files_only=True, use_safetensors=True, ignore_mismatched_sizes=True
        )
    return PaddedTransformer(_with_dropout(network, dropout))


def made_transformer(config: Mapping[str, Any], dropout: float) -> PaddedTransformer:
    """The network of a config.json, with random weights."""
    transformers = require("transformers", "encoders")
    known = {key: value for key, value in config.items() if key not in ("model_type", "id2label", "label2id")}
    made = transformers.AutoConfig.for_model(config["model_type"], **{**known, "num_labels": 1})
    network = transformers.AutoModelForSequenceClassification.from_config(made)
    return PaddedTransformer(_with_dropout(network, dropout))


def _with_dropout(network: Any, share: float) -> Any:
    for part in network.modules():
        if isinstance(part, nn.Dropout):
            part.p = share
    return network
