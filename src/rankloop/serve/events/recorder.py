"""Pages and events on their way to the store: first on disk, and events only with a signature."""

import time
from collections.abc import Sequence
from dataclasses import replace

from rankloop.serve.config import Config
from rankloop.serve.events.forgotten_people import ForgottenPeople
from rankloop.serve.events.shown_page import Event, FollowingPage, ShownPage
from rankloop.serve.events.signer import Expired, Signer
from rankloop.serve.events.spool import Spool, SpoolFull
from rankloop.serve.events.store import Store
from rankloop.serve.http.schema import Accepted, EventIn, Refused

__all__ = ["Recorder"]


class Recorder:
    """Writes to a queue on disk, which is moved to the store: searching never waits for the database."""

    def __init__(self, config: Config, store: Store) -> None:
        self.signer = Signer(config.secret(), lifetime=config.signature_hours * 3600)
        self.spool = Spool(config.home / "spool", int(config.spool_megabytes * 2**20))
        self.store = store
        self.forgotten = ForgottenPeople(config.home / "forgotten", store)
        self.trouble: str | None = None

    def start(self) -> None:
        """Move what is on disk to the store in the background, until `close`."""
        self.spool.start(self.store)

    def close(self) -> None:
        """Move what waits to the store, if it answers."""
        self.spool.stop()

    def user(self, user: str | None) -> str | None:
        """The keyed hash that stands for a person in the log."""
        return self.signer.user_key(user) if user else None

    def origin(self, address: str | None) -> str | None:
        """The keyed hash that stands for the range of an address in the log."""
        return self.signer.origin_key(address) if address else None

    def unit(self, user: str | None, address: str | None) -> str:
        """What is divided between versions: a person, or all whom nobody named in the range of an address."""
        return self.user(user) or self.origin(address) or ""

    def page(self, page: ShownPage) -> str | None:
        """Put a page on disk and sign its id; None where the disk is full, and results are shown anyway."""
        if not self._put(replace(page, epoch=self.forgotten.epoch)):
            return None
        return self.signer.sign(page.page_id)

    def following(self, page: FollowingPage, token: str) -> str | None:
        """Put more results of a page on disk, under its own token; None where the disk is full."""
        return token if self._put(page) else None

    def page_of(self, token: str | None) -> str | None:
        """The page that a token was signed for; None without one, or where it has expired."""
        try:
            return None if token is None else self.signer.open(token)
        except Expired:
            return None

    def _put(self, page: ShownPage | FollowingPage) -> bool:
        try:
            self.spool.put([page], durable=False)  # a loss of power may lose it, a kill may not
        except SpoolFull as error:
            self.trouble = f"pages are not recorded: {error.strerror}"
            return False
        self.trouble = None
        return True

    def events(self, events: Sequence[EventIn]) -> Accepted:
        """Put events on disk; those without the signature of a page are refused. `SpoolFull` if full."""
        now = time.time()
        kept, refused = [], []
        for one in events:
            try:
                page_id = self.signer.open(one.impression)
                kept.append(Event(one.id, page_id, one.kind, one.document, one.position, one.value, now))
            except ValueError as error:
                refused.append(Refused(id=one.id, reason=str(error)))
        if kept:
            self.spool.put(kept)
        return Accepted(accepted=len(kept), refused=refused)
