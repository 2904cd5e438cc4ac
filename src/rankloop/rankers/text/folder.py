"""Folders of pretrained models on this machine."""

import os
from pathlib import Path

__all__ = ["TOKENIZER", "cache_folder", "model_folder"]

TOKENIZER = "tokenizer.json"


def cache_folder() -> Path:
    """Where pretrained models are kept: RANKLOOP_ENCODERS, or the user's cache."""
    given = os.environ.get("RANKLOOP_ENCODERS")
    if given:
        return Path(given).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rankloop" / "encoders"


def model_folder(name: str | Path) -> Path:
    """The folder of a pretrained model: its path, or its name in the cache (`name-full` before `name`).

    Nothing is downloaded: `rankloop encoders get minilm-full` does that.
    """
    own = isinstance(name, Path) or os.sep in name
    places = [Path(name)] if own else [cache_folder() / f"{name}-full", cache_folder() / name]
    for place in places:
        if (place / "config.json").is_file() and (place / TOKENIZER).is_file():
            return place
    for place in places:
        if any(place.glob("*.onnx")) or any(place.glob("onnx/*.onnx")):
            raise FileNotFoundError(
                f"{place} holds an ONNX model, which embeds texts for search and is not trained here; take "
                "weights in single precision: run rankloop encoders get minilm-full, or name a folder with "
                f"config.json, {TOKENIZER} and model.safetensors"
            )
    if not own and Path(name).is_dir():
        raise FileNotFoundError(
            f"no pretrained model {name!r} in {cache_folder()}; for the folder here write ./{name}"
        )
    raise FileNotFoundError(
        f"no pretrained model {str(name)!r} on this machine (looked in {', '.join(map(str, places))}): a "
        f"folder with config.json, {TOKENIZER} and model.safetensors is needed; name such a folder, or run: "
        "rankloop encoders get minilm-full"
    )
