"""The static embedding of wordllama."""

from pathlib import Path

from rankloop._extras import require
from rankloop.search.encoders.pretrained_encoder import PretrainedEncoder

__all__ = ["wordllama"]


def wordllama(dimension: int = 256) -> PretrainedEncoder:
    """The static embedding inside the package wordllama; nothing is downloaded."""
    package = require("wordllama", "encoders")
    # By default it looks for its tokenizer in a folder that does not exist; its own folder has it.
    inside = Path(package.__file__).parent
    model = package.WordLlama.load(dim=dimension, cache_dir=inside, disable_download=True)
    return PretrainedEncoder(f"wordllama-{dimension}", model.embed)
