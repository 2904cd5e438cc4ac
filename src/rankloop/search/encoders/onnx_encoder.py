"""Text encoders as ONNX models: onnxruntime and tokenizers, no torch."""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rankloop._arrays import Floats, Ints, Singles
from rankloop._extras import require
from rankloop._json import read_object
from rankloop._names import one_of
from rankloop._progress import progress
from rankloop._tokenizer import read_tokenizer
from rankloop.search.encoders.vector_cache import VectorCache, vector_folder

__all__ = ["OnnxEncoder", "model_file", "pooled"]

_MODELS = ("model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx", "onnx/model.onnx")
_REMEMBERED = 20_000  # vectors kept in memory: 30 MB at 384 numbers


class OnnxEncoder:
    """Texts to vectors of length 1 by an ONNX model in a folder, with the tokenizer.json beside it.

    The vectors of a text's tokens are averaged (`pooling="mean"`), or that of the first is taken ("cls"); a
    model that gives one vector per text itself is taken as it is. Texts are cut to `tokens`. Texts of
    similar length are encoded together, `batch` at a time; an int8 model scales its numbers over a batch, so
    the vector of a text moves with its neighbours (cosine .986 at worst of 400 texts; `batch=1` avoids
    that). The last 20,000 vectors are remembered.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        name: str | None = None,
        pooling: str | None = None,
        tokens: int = 256,
        batch: int = 32,
        threads: int | None = None,
    ) -> None:
        self.folder = Path(folder)
        self.name = name or str(folder)
        self.pooling = one_of("pooling", pooling or _declared_pooling(self.folder), ("mean", "cls"))
        if tokens < 3 or batch < 1:
            raise ValueError(f"an encoder reads at least 3 tokens and 1 text at once, got {tokens}, {batch}")
        self.tokens, self.batch, self.threads = tokens, batch, threads
        found = model_file(self.folder)
        if found is None or not (self.folder / "tokenizer.json").is_file():
            raise FileNotFoundError(f"{self.folder} needs an ONNX model (model.onnx) and tokenizer.json")
        self._model = found
        self._known: OrderedDict[bytes, Singles] = OrderedDict()

    def __repr__(self) -> str:
        return f"OnnxEncoder({self.name!r})"

    def __call__(self, text: str) -> Singles:
        """The vector of a query."""
        vector: Singles = self.encode([text])[0]
        return vector

    def encode(self, texts: Sequence[str], *, cache: VectorCache | None = None) -> Singles:
        """One vector of length 1 per text; those in `cache` are taken from there, new ones are put there."""
        keys = [hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest() for text in texts]
        fresh = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        kept = {} if cache is None else cache.get(list(fresh))
        new = {key: text for key, text in fresh.items() if key not in kept}
        made = dict(zip(new, self._encoded(list(new.values())), strict=True))
        if cache is not None:
            cache.put(made)
        made |= kept
        found = [made[key] if key in made else self._known[key] for key in keys]
        self._known.update(made)
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return np.array(found, np.float32).reshape(len(texts), self.dimension)

    @cached_property
    def dimension(self) -> int:
        """The length of a vector."""
        return int(self._encoded(["a"]).shape[1])

    @cached_property
    def fingerprint(self) -> str:
        """A hash of weights, vocabulary and settings: equal where the vectors are."""
        made = hashlib.blake2b(self._model.read_bytes(), digest_size=8)
        spelled = read_object(self.folder / "tokenizer.json", "copy it again")
        rules = {key: spelled.get(key) for key in ("normalizer", "pre_tokenizer", "post_processor", "model")}
        made.update(json.dumps([rules, self.pooling, self.tokens], sort_keys=True).encode())
        return made.hexdigest()

    def cache(self) -> VectorCache | None:
        """The vectors of this encoder on disk; None where RANKLOOP_VECTORS says "off"."""
        folder = vector_folder()
        if folder is None:
            return None
        return VectorCache(folder, self.fingerprint, dimension=self.dimension)

    def _encoded(self, texts: list[str]) -> Singles:
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        read = self._tokenizer.encode_batch(texts)
        lengths = np.array([len(one.ids) for one in read])
        order = np.argsort(lengths, kind="stable")
        vectors: Singles | None = None
        with progress("encoding", len(texts) if len(texts) > 10 * self.batch else None) as advance:
            for start in range(0, len(order), self.batch):
                rows = order[start : start + self.batch]
                part = self._run([read[row].ids for row in rows], int(lengths[rows].max()))
                if vectors is None:
                    vectors = np.empty((len(texts), part.shape[1]), np.float32)
                vectors[rows] = part
                advance(len(rows), "")
        assert vectors is not None
        return vectors

    def _run(self, ids: list[list[int]], longest: int) -> Floats:
        tokens, mask = np.zeros((len(ids), longest), np.int64), np.zeros((len(ids), longest), np.int64)
        for row, one in enumerate(ids):
            tokens[row, : len(one)] = one
            mask[row, : len(one)] = 1
        given = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
        session = self._session
        wanted = {one.name: given[one.name] for one in session.get_inputs() if one.name in given}
        try:
            output = np.asarray(session.run(None, wanted)[0])
        except Exception as error:  # its classes are not public
            raise ValueError(f"{self._model} cannot read the tokens of tokenizer.json ({error})") from None
        return pooled(output, mask, self.pooling)

    @cached_property
    def _session(self) -> Any:
        runtime = require("onnxruntime", "text")
        options = runtime.SessionOptions()
        options.log_severity_level = 3
        if self.threads is not None:
            options.intra_op_num_threads = self.threads
        try:
            session = runtime.InferenceSession(
                str(self._model), options, providers=["CPUExecutionProvider"], enable_fallback=0
            )
        except Exception as error:  # its classes are not public
            raise ValueError(f"{self._model} is not a readable ONNX model ({error})") from None
        unknown = [one.name for one in session.get_inputs() if one.name not in _INPUTS]
        if unknown:
            raise ValueError(
                f"{self._model} needs the input {unknown[0]!r}; a text encoder takes {', '.join(_INPUTS)}"
            )
        return session

    @cached_property
    def _tokenizer(self) -> Any:
        made = read_tokenizer((self.folder / "tokenizer.json").read_text(encoding="utf-8"))
        made.enable_truncation(max_length=self.tokens)
        return made


_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def pooled(output: Singles, mask: Ints, pooling: str) -> Floats:
    """One vector of length 1 per text from vectors per token (texts x tokens x numbers), or per text.

    >>> tokens = np.array([[[3.0, 0.0], [0.0, 3.0], [9.0, 9.0]]], np.float32)
    >>> pooled(tokens, np.array([[1, 1, 0]]), "mean").round(4)
    array([[0.7071, 0.7071]])
    """
    vectors = output.astype(np.float64)
    if vectors.ndim == 3 and pooling == "cls":
        vectors = vectors[:, 0]
    elif vectors.ndim == 3:
        vectors = (vectors * mask[:, :, None]).sum(1) / np.maximum(mask.sum(1), 1)[:, None]
    if vectors.ndim != 2 or len(vectors) != len(mask):
        raise ValueError(f"a text encoder gives vectors per token or per text, got shape {output.shape}")
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12))


def model_file(folder: Path) -> Path | None:
    """The ONNX model of a folder: its own, or as model repositories lay it out."""
    return next((folder / name for name in _MODELS if (folder / name).is_file()), None)


def _declared_pooling(folder: Path) -> str:
    """The pooling that a folder of sentence-transformers declares; else the mean."""
    declared = folder / "1_Pooling" / "config.json"
    if not declared.is_file():
        return "mean"
    return "cls" if read_object(declared, "copy it again").get("pooling_mode_cls_token") else "mean"
