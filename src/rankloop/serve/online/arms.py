"""The arm of a page whose version learns while it serves."""

from contextlib import suppress
from typing import TYPE_CHECKING

from rankloop.serve.events.store import StoreAway
from rankloop.serve.experiments.policy import Arm
from rankloop.serve.online.explore import draw

if TYPE_CHECKING:
    from rankloop.serve.events.store import Store
    from rankloop.serve.models.live import Live

__all__ = ["learning_arm", "shown_earlier"]


def learning_arm(arm: Arm, live: "Live", unit: str, page_id: str) -> Arm:
    """The arm with what is drawn for this page; the same for a version that does not learn.

    In experiments a version shows what it has learned, and explores nothing. Before its first run has begun,
    within a second after it was promoted, neither.
    """
    if arm.experiment is not None or len(arm.versions) != 1:
        return arm
    model = live.models.get(arm.versions[0])
    if model is None or model.learning is None or model.learning.run == 0:
        return arm
    drawn = draw(model.version, model.learning, unit, page_id)
    return Arm(drawn.versions, online=drawn)


def shown_earlier(store: "Store", page_id: str) -> tuple[str, ...]:
    """The documents that a page showed before its following ones; none where the store does not know yet."""
    with suppress(StoreAway):
        page = store.page(page_id)
        return () if page is None else page.documents
    return ()
