"""Encoders that are on this machine, by name or folder."""

import os
from pathlib import Path

from rankloop._names import unknown
from rankloop.rankers.text.folder import cache_folder
from rankloop.search.encoders.listed import ENCODERS
from rankloop.search.encoders.onnx_encoder import OnnxEncoder, model_file

__all__ = ["cache_folder", "find_encoder", "open_encoder"]


def open_encoder(name: str | Path) -> OnnxEncoder:
    """The encoder of a name (`"minilm"`) or of a folder with an ONNX model and tokenizer.json.

    Nothing is downloaded: `rankloop encoders get minilm` does that. Folders under RANKLOOP_ENCODERS are
    found by their names.
    """
    folder = find_encoder(name)
    if folder is not None:
        return OnnxEncoder(folder, name=str(name))
    if str(name) in ENCODERS:
        raise FileNotFoundError(
            f"the encoder {str(name)!r} is not on this machine (looked in {cache_folder()}); "
            f"run: rankloop encoders get {name}"
        )
    if os.sep in str(name):
        raise FileNotFoundError(f"no encoder at {name}: it needs model.onnx and tokenizer.json")
    raise unknown("encoder", str(name), ENCODERS)


def find_encoder(name: str | Path) -> Path | None:
    """The folder of an encoder on this machine, or None; a name without a slash is looked up in the cache."""
    own = isinstance(name, Path) or os.sep in name
    folder = Path(name) if own else cache_folder() / name
    there = model_file(folder) is not None and (folder / "tokenizer.json").is_file()
    if not there and not own and name in ENCODERS:
        there = all((folder / file.name).is_file() for file in ENCODERS[str(name)].sources[0].files)
    return folder if there else None
