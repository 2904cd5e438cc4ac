"""From the folder of a pretrained model to a cross-encoder, and from saved parts back to it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from rankloop.rankers.text.bert import BertShape
from rankloop.rankers.text.cross_encoder import CrossEncoder
from rankloop.rankers.text.folder import TOKENIZER, model_folder
from rankloop.rankers.text.safetensors import read_safetensors
from rankloop.rankers.text.tokens import Tokenizer

__all__ = ["Pretrained", "load_weights", "made_of", "open_model", "weights_of"]

NATIVE = ("bert",)
_KEPT = ("model_type", *BertShape.__dataclass_fields__, "position_embedding_type")


class Pretrained(NamedTuple):
    """A cross-encoder, its tokenizer, and what describes it in a file."""

    scorer: nn.Module
    tokenizer: Tokenizer
    about: dict[str, Any]


def open_model(name: str | Path, *, dropout: float, seed: int) -> Pretrained:
    """The pretrained model of a folder, or of a name in the cache, as a cross-encoder."""
    folder = model_folder(name)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
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
        scorer = made_of(about, dropout)
    assert isinstance(scorer, CrossEncoder)
    scorer.load(weights)
    return Pretrained(scorer, tokenizer, about)


def made_of(about: Mapping[str, Any], dropout: float) -> nn.Module:
    """The network that `about` describes, with random weights."""
    config = about["config"]
    if config.get("model_type") not in NATIVE:
        from rankloop.rankers.text.transformer import made_transformer

        return made_transformer(config, dropout)
    return CrossEncoder(
        BertShape.of(config), dropout=dropout, classes=int(about["classes"]), pooler=bool(about["pooler"])
    )


def _weights(folder: Path) -> dict[str, Tensor]:
    """The weights of a folder in safetensors, in one file or several."""
    one, several = folder / "model.safetensors", folder / "model.safetensors.index.json"
    if one.is_file():
        return read_safetensors(one)
    if several.is_file():
        files = sorted(set(json.loads(several.read_text(encoding="utf-8"))["weight_map"].values()))
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
