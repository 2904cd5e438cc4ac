"""What served last, in a file: the service starts with it while its database does not answer."""

from pathlib import Path
from typing import TYPE_CHECKING

from rankloop._atomic import replacing
from rankloop._checksums import checked_json, signed_json
from rankloop.search import Searchable, load_pipeline
from rankloop.serve.models.files import checked_file
from rankloop.serve.models.live import BUILT_IN, Live, Model, first_model
from rankloop.serve.models.registry import Registry, Roles, Version

if TYPE_CHECKING:
    from rankloop.serve.config import Config

__all__ = ["Memo"]


class Memo:
    """The version in production and the hash of its file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def note(self, version: Version) -> None:
        """Remember the versions that serve now."""
        with replacing(self.path) as beside:
            beside.write_text(signed_json({"production": version.version, "sha256": version.sha256}))

    def live(self, registry: Registry, index: Searchable, config: "Config") -> Live:
        """What served last; the first model, under its own name, where nothing is remembered."""
        trouble = "the database did not answer at the start; the version that served last goes on"
        try:
            known = checked_json(self.path.read_text(encoding="utf-8"))
            version = str(known["production"])
            file = checked_file(str(known["sha256"]), registry.folder, version)
            pipeline = load_pipeline(file, index)
        except (OSError, ValueError, KeyError, TypeError):
            version, pipeline = BUILT_IN["name"], first_model(index, config)
        return Live(Roles(version), (), {version: Model(version, pipeline)}, (trouble,))
