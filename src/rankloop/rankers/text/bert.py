"""BERT over packed sequences, with the names that its checkpoints use."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from rankloop._names import one_of
from rankloop.rankers.text.cuda.layers import encoded, suits
from rankloop.rankers.text.packed import Packed, attention

__all__ = ["Bert", "BertShape", "Layer"]

_ACTIVATIONS = {
    "gelu": functional.gelu,
    "gelu_new": lambda x: functional.gelu(x, approximate="tanh"),
    "relu": functional.relu,
}


_SIZES = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "max_position_embeddings",
    "type_vocab_size",
)
_LARGEST = 2**31 - 1


@dataclass(frozen=True)
class BertShape:
    """The sizes of a BERT, as its config.json names them."""

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    layer_norm_eps: float = 1e-12
    hidden_act: str = "gelu"

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Self:
        """The sizes in a config.json; an error names what is missing or not BERT's."""
        if config.get("position_embedding_type", "absolute") != "absolute":
            raise ValueError("a BERT with relative positions is not read here; use one with absolute ones")
        try:
            made = cls(**{name: config[name] for name in cls.__dataclass_fields__ if name in config})
        except TypeError as error:
            raise ValueError(f"config.json is not that of a BERT ({error})") from None
        for name in _SIZES:
            size = getattr(made, name)
            if type(size) is not int or not 1 <= size <= _LARGEST:
                raise ValueError(f"config.json is not that of a BERT: its {name} is {size!r:.60}")
        if type(made.layer_norm_eps) not in (int, float) or not 0 <= made.layer_norm_eps <= 1:
            raise ValueError("config.json is not that of a BERT: its layer_norm_eps is not from 0 to 1")
        one_of("hidden_act", made.hidden_act, _ACTIVATIONS)
        if made.hidden_size % made.num_attention_heads:
            raise ValueError(
                f"hidden_size {made.hidden_size} is not a multiple of {made.num_attention_heads} heads"
            )
        return made

    @property
    def numbers(self) -> int:
        """How many weights it has, but for biases and norms."""
        rows = self.vocab_size + self.max_position_embeddings + self.type_vocab_size
        layer = 4 * self.hidden_size + 2 * self.intermediate_size
        return self.hidden_size * (rows + self.num_hidden_layers * layer)


class Bert(nn.Module):
    """The vectors of the tokens of packed sequences (Devlin et al., 2019)."""

    def __init__(self, shape: BertShape, dropout: float) -> None:
        super().__init__()
        width = shape.hidden_size
        self.shape, self.dropout = shape, dropout
        self.words = nn.Embedding(shape.vocab_size, width)
        self.positions = nn.Embedding(shape.max_position_embeddings, width)
        self.types = nn.Embedding(shape.type_vocab_size, width)
        self.norm = nn.LayerNorm(width, eps=shape.layer_norm_eps)
        self.layers = nn.ModuleList(Layer(shape, dropout) for _ in range(shape.num_hidden_layers))

    def forward(self, tokens: Tensor, types: Tensor, places: Tensor, packed: Packed) -> Tensor:
        """`places` are the positions of the tokens in their sequences, from 0 on."""
        if suits(self, tokens.device):
            return encoded(self, tokens, types, places, packed)
        x = self.norm(self.words(tokens) + self.positions(places) + self.types(types))
        x = functional.dropout(x, self.dropout, self.training)
        for layer in self.layers:
            x = layer(x, packed)
        made: Tensor = x
        return made

    def load(self, weights: Mapping[str, Tensor]) -> None:
        """Take the weights of a checkpoint, by the names that transformers gives them."""
        prefix = next((p for p in ("bert.", "") if f"{p}embeddings.word_embeddings.weight" in weights), None)
        if prefix is None:
            raise ValueError("the weights have no embeddings.word_embeddings.weight, so this is not a BERT")
        try:
            self.load_state_dict(
                _renamed({name: value.float() for name, value in weights.items()}, prefix, self)
            )
        except (KeyError, RuntimeError) as error:
            raise ValueError(
                f"the weights do not fit config.json: {str(error).splitlines()[-1].strip()}"
            ) from None


class Layer(nn.Module):
    """Attention within the sequences, then two matrices for each token."""

    def __init__(self, shape: BertShape, dropout: float) -> None:
        super().__init__()
        width, self.heads, self.dropout = shape.hidden_size, shape.num_attention_heads, dropout
        self.activation = shape.hidden_act
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm_out = nn.LayerNorm(width, eps=shape.layer_norm_eps)
        self.up = nn.Linear(width, shape.intermediate_size)
        self.down = nn.Linear(shape.intermediate_size, width)
        self.norm_down = nn.LayerNorm(width, eps=shape.layer_norm_eps)

    def forward(self, x: Tensor, packed: Packed) -> Tensor:
        qkv = self.qkv(x)
        seen = attention(qkv.view(len(x), 3, self.heads, -1), packed)
        return self.rest(x, seen)

    def rest(self, x: Tensor, seen: Tensor) -> Tensor:
        """What follows attention, token by token."""
        x = self.norm_out(x + functional.dropout(self.out(seen), self.dropout, self.training))
        inner = self.down(_ACTIVATIONS[self.activation](self.up(x)))
        made: Tensor = self.norm_down(x + functional.dropout(inner, self.dropout, self.training))
        return made


def _renamed(weights: Mapping[str, Tensor], prefix: str, bert: Bert) -> dict[str, Tensor]:
    """Our names: query, key and value of a layer are one matrix."""
    table = {
        "words.weight": "embeddings.word_embeddings.weight",
        "positions.weight": "embeddings.position_embeddings.weight",
        "types.weight": "embeddings.token_type_embeddings.weight",
    }
    table |= {f"norm.{part}": f"embeddings.LayerNorm.{part}" for part in ("weight", "bias")}
    made = {}
    for at in range(bert.shape.num_hidden_layers):
        theirs = f"encoder.layer.{at}"
        for part in ("weight", "bias"):
            own = [
                weights[f"{prefix}{theirs}.attention.self.{one}.{part}"] for one in ("query", "key", "value")
            ]
            made[f"layers.{at}.qkv.{part}"] = torch.cat(own)
            table |= {
                f"layers.{at}.out.{part}": f"{theirs}.attention.output.dense.{part}",
                f"layers.{at}.norm_out.{part}": f"{theirs}.attention.output.LayerNorm.{part}",
                f"layers.{at}.up.{part}": f"{theirs}.intermediate.dense.{part}",
                f"layers.{at}.down.{part}": f"{theirs}.output.dense.{part}",
                f"layers.{at}.norm_down.{part}": f"{theirs}.output.LayerNorm.{part}",
            }
    return made | {ours: weights[prefix + theirs] for ours, theirs in table.items()}
