"""What a language model is asked to judge, how far it agrees with people, and whether it may be used."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rankloop.metrics import Agreement, weighted_kappa
from rankloop.serve.desk.acts import note_act
from rankloop.serve.desk.language_judge import BadAnswer, LanguageJudge, OverBudget
from rankloop.serve.desk.language_model import LanguageModel, ModelAway
from rankloop.serve.events.judgments import MODEL, averaged
from rankloop.serve.events.store import Rating, StoreAway

if TYPE_CHECKING:
    from rankloop.search import Pipeline, Searchable
    from rankloop.serve.desk.judging import Judging
    from rankloop.serve.models.registry import Version

__all__ = ["ENOUGH", "LEAST", "JudgeRun", "Trial", "same_model"]

ENOUGH = 30  # documents that people and the model have graded
LEAST = 0.4  # agreement with people, as weighted kappa, that it needs to be used
BAD = 5  # answers without a grade in a row, after which a run ends
TRIAL = "trial"


@dataclass(frozen=True)
class Trial:
    """How far a model agrees with people on documents that both graded."""

    agreement: Agreement | None
    items: int

    @property
    def passed(self) -> bool:
        """Whether the model may judge what people did not."""
        return self.agreement is not None and self.items >= ENOUGH and self.agreement.value >= LEAST

    @property
    def why_not(self) -> str:
        """What is missing until it may be used."""
        if self.agreement is None or self.items < ENOUGH:
            return f"{ENOUGH} documents that people judged are needed to compare with, there are {self.items}"
        return "" if self.passed else f"its agreement with people is below {LEAST:g}"


@dataclass(eq=False)
class JudgeRun:
    """A run of a judge beside the service; `message` says how the last one ended."""

    judge: LanguageJudge
    index: "Searchable"
    message: str = ""
    done: int = 0
    wanted: int = 0
    _thread: threading.Thread | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _stop: threading.Event = field(default_factory=threading.Event, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.judge.ask, LanguageModel):
            self.judge.ask.stop = self._stop

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def trial(self, ratings: Sequence[Rating]) -> Trial:
        """The agreement with the mean of people's grades."""
        people = averaged(one for one in ratings if not one.source.startswith(MODEL)).to_dict()
        mine = [one for one in ratings if one.rater == self.judge.rater and one.grade is not None]
        pairs = [
            (one.grade, round(people[one.query][one.document]))
            for one in mine
            if one.document in people.get(one.query, {})
        ]
        if not pairs:
            return Trial(None, 0)
        model, graded = zip(*pairs, strict=True)
        return Trial(weighted_kappa(model, graded), len(pairs))

    def start(self, found: "Judging", way: str, who: str) -> bool:
        """Ask for what people judged (`trial`), or for the rest; False where a run is under way."""
        judged = {(one.query, one.document) for one in found.ratings if not one.source.startswith(MODEL)}
        mine = {(one.query, one.document) for one in found.ratings if one.rater == self.judge.rater}
        pool = [
            (query, document)
            for query, documents in zip(found.pools.queries, found.pools.documents, strict=True)
            for document in documents
        ]
        if way == TRIAL:
            items = sorted(judged - mine)
        else:
            trial = self.trial(found.ratings)
            if not trial.passed:
                raise ValueError(f"{self.judge.model} may not be used: {trial.why_not}")
            items = [one for one in pool if one not in judged and one not in mine]
        self.judge.check_budget()
        with self._lock:
            if self.running or self._stop.is_set():
                return False
            self.done, self.wanted, self.message = 0, len(items), ""
            self._thread = threading.Thread(
                target=self._run, args=(items, way), name="rankloop-judge", daemon=True
            )
            self._thread.start()
        about = {"model": self.judge.model, "set": found.set.address, "items": len(items)}
        note_act(self.judge.store, who, "judge by model", **about)
        return True

    def stop(self) -> None:
        """End the run under way; what it graded is kept."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=10)

    def _run(self, items: Sequence[tuple[str, str]], way: str) -> None:
        bad = 0
        source = f"{MODEL} {TRIAL}" if way == TRIAL else MODEL
        for query, document in items:
            if self._stop.is_set():
                return
            try:
                if document in self.index:
                    given = self.judge.grade(query, self.index[document])
                    self.judge.store.put_judgment(
                        query, document, given.grade, self.judge.rater, reason=given.reason, source=source
                    )
                bad = 0
                self.done += 1
            except BadAnswer as error:
                bad += 1
                self.message = str(error)
                if bad == BAD:
                    self.message = f"{BAD} answers in a row had no grade: {error}"
                    return
            except (OverBudget, ModelAway, StoreAway, ValueError) as error:
                self.message = str(error)
                return
            except Exception as error:  # a callable of others may fail in any way
                self.message = f"the judge failed: {type(error).__name__}: {error}"[:500]
                return


def same_model(judge: str, pipeline: "Pipeline", version: "Version") -> bool:
    """Whether a version ranks by the model that judges it, or learned from it: then it judges itself."""
    names: list[Any] = [version.lineage.get("model"), version.lineage.get("judge")]
    for stage in pipeline.stages:
        ranker = getattr(stage, "ranker", None)
        names += [getattr(ranker, "checkpoint", None), getattr(stage, "model_name", None)]
        encoders = {**(getattr(stage, "encoders", None) or {}), **(getattr(stage, "vectors", None) or {})}
        names += [part for one in encoders.values() for part in _names_of(one)]
    return _plain(judge) in {_plain(str(one)) for one in names if one}


def _names_of(encoder: Any) -> list[Any]:
    return [getattr(encoder, name, None) for name in ("name", "checkpoint", "model")]


def _plain(name: str) -> str:
    """A name without its folder or owner.

    >>> _plain("acme/Judge-7B") == _plain("judge-7b")
    True
    """
    return name.rstrip("/").rpartition("/")[2].lower()
