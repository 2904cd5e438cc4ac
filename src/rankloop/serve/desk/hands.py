"""Pins, boosts and hides that people set for a query or for a rule; each ends by itself."""

import math
import secrets
import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import insert, select, update

from rankloop._names import one_of
from rankloop.serve.events.shown_page import check_text
from rankloop.serve.events.tables import interventions

if TYPE_CHECKING:
    from rankloop.serve.events.store import Store

__all__ = ["EVERY", "KINDS", "Hands", "Rule", "add_rule", "end_rule", "known_rules"]

KINDS = ("pin", "boost", "hide")
EVERY = "*"  # the pattern of all queries
LONGEST = 366.0  # days that a rule lasts
MOST = 1000  # rules at a time
HIGHEST = 10  # rank of a pin, ranks of a boost


class Rule(NamedTuple):
    """What is done to a document: pinned at rank `value`, moved up by `value` ranks, or hidden.

    `pattern` is a query, words in quotes that a query must hold (`"running shoes"`), or `*`. With `field` it
    is done to all documents whose field has the value `wanted`; of these the best one is pinned.
    """

    id: str
    kind: str
    pattern: str
    document: str
    value: float | None
    time: float
    until: float
    who: str
    reason: str
    field: str = ""
    wanted: str = ""

    @property
    def target(self) -> str:
        """Which documents it is for."""
        return f"{self.field} = {self.wanted}" if self.field else self.document

    def matches(self, query: str) -> bool:
        """Whether the rule is for a query; case and blanks make no difference.

        >>> rule = Rule("1", "hide", '"red shoes"', "d", None, 0, 0, "ann", "")
        >>> rule.matches("Red  shoes for men"), rule.matches("red hat"), rule.matches("bored shoes")
        (True, False, False)
        """
        words, wanted = _words(query), _words(self.pattern.strip('"'))
        if self.pattern == EVERY:
            return True
        if self.pattern.startswith('"'):
            return any(words[at : at + len(wanted)] == wanted for at in range(len(words)))
        return words == wanted


class Hands:
    """The rules that hold now, in memory; `reload` reads those that others set."""

    def __init__(self, store: "Store") -> None:
        self.store = store
        self._rules: tuple[Rule, ...] = ()
        self._lock = threading.Lock()

    def reload(self) -> None:
        """Read the rules that have not ended."""
        rules = tuple(known_rules(self.store))
        with self._lock:
            self._rules = rules

    def matching(self, query: str, now: float | None = None) -> list[Rule]:
        """The rules for a query, the oldest first."""
        if not self._rules:
            return []
        at = time.time() if now is None else now
        return [one for one in self._rules if one.until > at and one.matches(query)]


def add_rule(
    store: "Store",
    kind: str,
    pattern: str,
    document: str,
    *,
    value: float | None = None,
    days: float = 30.0,
    who: str,
    reason: str = "",
    field: str = "",
    wanted: str = "",
) -> Rule:
    """Set a rule that ends after some days: for a document, or for all whose `field` is `wanted`."""
    one_of("kind of rule", kind, KINDS)
    pattern = " ".join(pattern.split())
    texts = {"query": pattern, "document": document, "reason": reason, "field": field, "value": wanted}
    for name, text in texts.items():
        check_text(name, text, 500)
    if not _words(pattern.strip('"')):
        raise ValueError(f'a rule is for a query, for words in quotes, or for {EVERY} (all); got "{pattern}"')
    if bool(document) == bool(field):
        both = "got both" if document else "it is empty"
        raise ValueError(f"a rule names a document by its id, or a field and its value; {both}")
    if not 0 < days <= LONGEST:
        raise ValueError(f"a rule lasts more than 0 and at most {LONGEST:g} days, got {days:g}")
    if kind == "hide":
        value = None
    elif value is None or not math.isfinite(value) or value != int(value) or not 1 <= value <= HIGHEST:
        wanted = "the rank of a pin" if kind == "pin" else "the ranks of a boost"
        raise ValueError(f"{wanted} is a whole number from 1 to {HIGHEST}, got {value}")
    now = time.time()
    until = now + 86_400 * days
    rule = Rule(
        secrets.token_hex(8), kind, pattern, document, value, now, until, who, reason, field, wanted.strip()
    )
    if len(known_rules(store)) >= MOST:
        raise ValueError(f"there are {MOST} rules already; end some first")
    with store.writing() as connection:
        connection.execute(insert(interventions), rule._asdict())
    return rule


def end_rule(store: "Store", id: str) -> None:
    """End a rule now; that it was there stays on record."""
    with store.writing() as connection:
        change = update(interventions).where(interventions.c.id == id).values(until=time.time())
        if not connection.execute(change).rowcount:
            raise LookupError(f"there is no rule {id[:40]!r}")


def known_rules(store: "Store", *, ended: bool = False) -> list[Rule]:
    """The rules that hold, or with `ended` the last that do not, the oldest first."""
    past = interventions.c.until <= time.time()
    statement = select(interventions).where(past if ended else ~past)
    if ended:
        statement = statement.order_by(interventions.c.until.desc()).limit(50)
    with store.reading() as connection:
        rows = connection.execute(statement).mappings().all()
    return sorted((Rule(**row) for row in rows), key=lambda one: (one.time, one.id))


def _words(text: str) -> list[str]:
    return text.lower().split()
