"""From the folder of a pretrained model to a cross-encoder, and from saved parts back to it."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from rankloop._json import read_object
from rankloop.rankers.text.bert import BertShape
from rankloop.rankers.text.cross_encoder import CrossEncoder
from rankloop.rankers.text.folder import TOKENIZER, model_folder
from rankloop.rankers.text.safetensors import read_safetensors
from rankloop.rankers.text.tokens import Tokenizer

__all__ = ["Pretrained", "load_weights", "made_of", "open_model", "weights_of"]

NATIVE = ("bert",)
_TIMES, _FEW = 2, 1 << 20  # a network has at most so many times the numbers of its weights, or of a small one
_KEPT = ("model_type", *BertShape.__dataclass_fields__, "position_embedding_type")


class Pretrained(NamedTuple):
    """A cross-encoder, its tokenizer, and what describes it in a file."""

    scorer: nn.Module
    tokenizer: Tokenizer
    about: dict[str, Any]


def open_model(name: str | Path, *, dropout: float, seed: int) -> Pretrained:
    """The pretrained model of a folder, or of a name in the cache, as a cross-encoder."""
    folder = model_folder(name)
    config = read_object(folder / "config.json", "copy it again")
    tokenizer = Tokenizer((folder / TOKENIZER).read_text(encoding="utf-8"))
    if config.get("model_type") not in NATIVE:
        from rankloop.rankers.text.transformer import open_transformer

        return Pretrained(open_transformer(folder, dropout, seed), tokenizer, {"config": config})
    weights = _weights(folder)
    head = weights.get("classifier.weight")
    if head is not None and len(head) > 2:
        raise ValueError(
            f"{folder} sorts pairs into {len(head)} classes; a ranker starts from one score, from two "
            "classes, or from a model without a classifier"
        )
    about = {
        "config": {key: config[key] for key in _KEPT if key in config},
        "classes": 0 if head is None else len(head),
        "pooler": head is not None and "bert.pooler.dense.weight" in weights,
    }
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        scorer = made_of(about, dropout, weights, tokenizer)
    assert isinstance(scorer, CrossEncoder)
    scorer.load(weights)
    return Pretrained(scorer, tokenizer, about)


def made_of(
    about: Mapping[str, Any], dropout: float, weights: Mapping[str, Any], tokenizer: Tokenizer
) -> nn.Module:
    """The network that `about` describes, with random weights.

    It may not be much larger than the weights to come, and has a row for every token of the tokenizer.
    """
    config = about["config"]
    if config.get("model_type") not in NATIVE:
        from rankloop.rankers.text.transformer import made_transformer

        return made_transformer(config, dropout)
    shape = BertShape.of(config)
    asked, given = shape.numbers, sum(math.prod(np.shape(value)) for value in weights.values())
    if asked > _TIMES * max(given, _FEW):
        raise ValueError(
            f"the weights do not fit config.json: it asks for {asked:,} numbers, and they are {given:,}"
        )
    tokens, types = tokenizer.sizes
    if tokens > shape.vocab_size or types > shape.type_vocab_size:
        raise ValueError(
            f"tokenizer.json does not fit config.json: it has {tokens:,} tokens of {types} types, "
            f"and the network reads {shape.vocab_size:,} of {shape.type_vocab_size}"
        )
    return CrossEncoder(shape, dropout=dropout, classes=int(about["classes"]), pooler=bool(about["pooler"]))


def _weights(folder: Path) -> dict[str, Tensor]:
    """The weights of a folder in safetensors, in one file or several."""
    one, several = folder / "model.safetensors", folder / "model.safetensors.index.json"
    if one.is_file():
        return read_safetensors(one)
    if several.is_file():
        named = read_object(several, "copy it again").get("weight_map")
        if not isinstance(named, dict) or not all(isinstance(file, str) for file in named.values()):
            raise ValueError(f"{several} names no files of weights; copy it again")
        files = sorted(set(named.values()))
        parts = [read_safetensors(folder / Path(file).name) for file in files]
        return {name: value for part in parts for name, value in part.items()}
    raise FileNotFoundError(
        f"{folder} has no model.safetensors; weights are read in that format alone: a .bin file is a pickle, "
        "and an ONNX model is not trained here (transformers' save_pretrained writes safetensors; rankloop "
        "encoders get minilm-full fetches some)"
    )


def weights_of(scorer: nn.Module) -> dict[str, Any]:
    """The weights as arrays by name."""
    return {name: value.detach().cpu().float().numpy() for name, value in scorer.state_dict().items()}


def load_weights(scorer: nn.Module, weights: Mapping[str, Any]) -> None:
    """Set what `weights_of` gave."""
    try:
        scorer.load_state_dict({name: torch.as_tensor(value) for name, value in weights.items()})
    except RuntimeError as error:
        raise KeyError(str(error).splitlines()[-1].strip()) from error
