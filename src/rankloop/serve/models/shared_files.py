"""Files of a folder that services on other machines see as well, through the database they share."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, select
from sqlalchemy.dialects.postgresql import insert

from rankloop._atomic import replacing
from rankloop.serve.events.tables import shared_files

if TYPE_CHECKING:
    from rankloop.serve.events.store import Store

__all__ = ["SharedFiles"]

LARGEST = 1 << 29  # bytes of a file in the database; PostgreSQL takes twice that in a row


class SharedFiles:
    """Files by name: in the folder, and where the database is a server, in it too.

    A store in a file has no services on other machines: then the folder is all there is.
    """

    def __init__(self, store: "Store", folder: Path) -> None:
        self.store, self.folder = store, folder

    def put(self, name: str, connection: Connection | None = None) -> None:
        """Let others see a file of the folder; with `connection`, when its transaction is committed."""
        if not self.store.is_shared:
            return
        path = self.folder / name
        if path.stat().st_size > LARGEST:
            raise ValueError(
                f"{name} has {path.stat().st_size:,} bytes; services share files of at most {LARGEST:,}: "
                "register a smaller model"
            )
        content = path.read_bytes()
        row = insert(shared_files).values(name=name, content=content)
        row = row.on_conflict_do_update(index_elements=[shared_files.c.name], set_={"content": content})
        if connection is not None:
            connection.execute(row)
            return
        with self.store.writing() as writing:
            writing.execute(row)

    def put_all(self, names: Iterable[str]) -> None:
        """Let others see all of these that are in the folder, as those of an earlier rankloop are."""
        if not self.store.is_shared:
            return
        with self.store.reading() as connection:
            known = set(connection.execute(select(shared_files.c.name)).scalars())
        for name in dict.fromkeys(names):
            if name not in known and (self.folder / name).is_file():
                self.put(name)

    def get(self, name: str, *, again: bool = False) -> Path:
        """The path of a file, fetched from the database if it is not in the folder, or once more."""
        path = self.folder / name
        if self.store.is_shared and (again or not path.is_file()):
            with self.store.reading() as connection:
                wanted = select(shared_files.c.content).where(shared_files.c.name == name)
                content = connection.execute(wanted).scalar()
            if content is not None:
                with replacing(path) as beside:
                    beside.write_bytes(content)
        return path
