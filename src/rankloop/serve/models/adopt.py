"""A pipeline that was learned elsewhere, as the version in production."""

from pathlib import Path

from rankloop._checksums import file_hash
from rankloop.search import load_pipeline
from rankloop.serve.config import Config
from rankloop.serve.events.store import Store
from rankloop.serve.models.live import ensure_production
from rankloop.serve.models.registry import Registry
from rankloop.serve.open_searchable import open_searchable

__all__ = ["adopt"]

FILE = "search.rank"  # of a pipeline in a run folder


def adopt(config: Config, path: Path) -> str:
    """Register and promote the pipeline in a file or run folder; the same file is registered once.

    One that does not fit the index is an error, and nothing changes.
    """
    file = path / FILE if path.is_dir() else path
    if not file.is_file():
        raise FileNotFoundError(f"there is no pipeline {file}; rankloop learn and rankloop train write one")
    index = open_searchable(config)
    load_pipeline(file, index)
    config.home.mkdir(parents=True, exist_ok=True)
    digest = file_hash(file)
    with Store.open(config.database) as store:
        registry = Registry(store, config.home / "models")
        ensure_production(registry, index, config)
        known = [one.version for one in registry.versions() if one.sha256 == digest]
        lineage = {"name": path.name, "made": "learned from files"}
        version = known[-1] if known else registry.register(file, lineage=lineage)
        registry.promote(version)
    return version
