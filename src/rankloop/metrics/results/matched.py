"""Any ranking and any judgments, matched into lists of scores and labels."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop._arrays import Array, Floats, Ints, Singles
from rankloop.data.judged import JudgedRun, judged
from rankloop.data.qrels import Qrels
from rankloop.data.ranking_dataset import RankingDataset
from rankloop.data.run import Run
from rankloop.metrics.condense import condense
from rankloop.metrics.kernels.columns import Columns
from rankloop.metrics.kernels.holes import Holes

__all__ = ["Judgments", "Matched", "matched"]

REGROUPED = "the data set has its rows in order by query, unlike its source; scores follow the data set"
Judgments = RankingDataset | Qrels | Mapping[Any, Mapping[Any, float]]


@dataclass(frozen=True, eq=False)
class Matched:
    """Scores and labels by list; the pool holds all judgments where a run may have missed some."""

    qid: Array
    scores: Floats
    labels: Singles
    offsets: Ints
    weight: Singles | None = None
    query_weight: Singles | None = None
    pool_labels: Singles | None = None
    pool_offsets: Ints | None = None
    tie_break: NDArray[np.str_] | None = None
    judged: NDArray[np.int8] | None = None
    pool_judged: NDArray[np.int8] | None = None
    subtopics: Array | None = None
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> Columns:
        """What metrics take beside scores, labels and offsets."""
        return cast(Columns, {name: getattr(self, name) for name in Columns.__annotations__})

    @property
    def judged_labels(self) -> Singles:
        """Every label there is, retrieved or not."""
        return self.labels if self.pool_labels is None else self.pool_labels

    def of_rows(self, judged: ArrayLike | None, subtopics: ArrayLike | None) -> "Matched":
        """The same with marks and subtopics of the rows of a data set; a run's rows are its own."""
        if judged is None and subtopics is None:
            return self
        if self.pool_labels is not None:
            raise ValueError(
                "judged= and subtopics= go by the rows of a data set; a run takes judged from its qrels, "
                "and for subtopics give scores in row order, -inf for what was not retrieved"
            )
        marks = None if judged is None else Holes.of(judged, len(self.scores), "judged").marks
        topics = None if subtopics is None else np.asarray(subtopics)
        return replace(self, judged=marks, subtopics=topics)

    def condensed(self) -> "Matched":
        """The same without documents that were not judged."""
        if self.judged is None:
            return self
        made = condense(self.scores, self.labels, self.offsets, judged=self.judged)
        found = int(len(self.scores) - len(made.kept))
        return replace(
            self,
            scores=made.scores,
            labels=made.labels,
            offsets=made.offsets,
            weight=None if self.weight is None else self.weight[made.kept],
            tie_break=None if self.tie_break is None else self.tie_break[made.kept],
            judged=None,
            subtopics=None if self.subtopics is None else self.subtopics[made.kept],
            notes=(*self.notes, f"condensed lists: {found:,} documents without judgment taken out"),
        )


def matched(ranking: Any, judgments: Judgments, *, as_trec: bool = False) -> Matched:
    """`ranking` is one score per row, anything with `predict`, or a run; a run goes with any judgments.

    `as_trec` orders tied documents as trec_eval does, by falling docid.
    """
    if not isinstance(judgments, (RankingDataset, Mapping)):
        raise ValueError(
            "judgments are a RankingDataset, a Qrels or {query: {document: label}}, "
            f"got {type(judgments).__name__}"
        )
    if isinstance(ranking, Mapping):
        return _match_run(ranking, judgments, as_trec)
    if not isinstance(judgments, RankingDataset):
        raise ValueError(
            f"judgments by document need a run to judge, got {type(ranking).__name__}; "
            "give a Run or {query: {document: score}}"
        )
    scores = _predicted(ranking, judgments) if hasattr(ranking, "predict") else ranking
    regrouped = judgments.regrouped and scores is ranking
    if regrouped and hasattr(scores, "to_numpy") and hasattr(scores, "name"):
        raise ValueError(
            "the rows of this data set were put in order by query, and a column of the table may be in "
            "another order; sort the table by query first, or give an array in the order of the data set"
        )
    return Matched(
        qid=judgments.qid,
        scores=_one_per_row(scores, judgments, "scores" if scores is ranking else "predictions"),
        labels=judgments.y,
        offsets=judgments.offsets,
        weight=judgments.item_weight,
        query_weight=judgments.query_weight,
        tie_break=judgments.docid.astype(np.str_) if as_trec and judgments.docid is not None else None,
        notes=(REGROUPED,) if regrouped else (),
    )


def _predicted(ranker: Any, data: RankingDataset) -> ArrayLike:
    """Our rankers see whole lists and feature names, any other the matrix."""
    scores: ArrayLike = ranker.predict(data if hasattr(ranker, "needs_lists") else data.X)
    return scores


def _one_per_row(given: ArrayLike, data: RankingDataset, what: str) -> Floats:
    try:
        scores = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"a ranking is one score per row, a ranker with predict, or a Run, got {type(given).__name__}"
        ) from None
    if scores.ndim == 2 and scores.shape[1] == 1:
        scores = scores[:, 0]
    if scores.shape != (data.n_documents,):
        raise ValueError(
            f"{what} need one number per row of the data set ({data.n_documents}), got shape {scores.shape}"
        )
    wrong = np.isnan(scores)
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"{what} must be numbers, got nan in row {row} (query {data.row_qid[row]}), "
            f"{int(wrong.sum())} in all; use -inf for documents that should come last"
        )
    return scores


def _match_run(ranking: Mapping[Any, Any], judgments: Judgments, as_trec: bool) -> Matched:
    run = ranking if isinstance(ranking, Run) else Run.from_dict(ranking)
    query_weight = None
    if isinstance(judgments, RankingDataset):
        query_weight = judgments.query_weight
        qrels = _qrels_of(judgments)
    else:
        qrels = judgments if isinstance(judgments, Qrels) else Qrels.from_dict(judgments)
    both = judged(run, qrels)
    if both.missing.all():
        raise ValueError(
            f"no query of the run is judged: the run has queries such as {_first(run)}, "
            f"the judgments such as {_first(qrels)}"
        )
    if as_trec:
        both = both.ranked_by_trec()
    return Matched(
        qid=both.qid,
        scores=both.scores,
        labels=both.labels,
        offsets=both.offsets,
        query_weight=query_weight,
        pool_labels=both.pool_labels,
        pool_offsets=both.pool_offsets,
        judged=both.judged,
        pool_judged=both.pool_judged,
        notes=_notes(both),
    )


def _qrels_of(data: RankingDataset) -> Qrels:
    if data.docid is None:
        raise ValueError("a run names documents, but the data set has no docid; give scores in row order")
    if data.item_weight is not None:
        raise ValueError("a run has no item weights, but the data set has; give scores in row order")
    return Qrels.from_dataset(data)


def _first(table: Mapping[str, Any]) -> str:
    return repr(next(iter(table))) if len(table) else "none"


def _notes(both: JudgedRun) -> tuple[str, ...]:
    notes = []
    missing = int(both.missing.sum())
    if missing:
        notes.append(f"judged queries without a result in the run: {missing:,} (they found nothing)")
    if both.unknown:
        notes.append(f"queries of the run without judgments: {len(both.unknown):,} (left out)")
    unjudged = int(both.unjudged.sum())
    if unjudged:
        share = 100 * unjudged / len(both.unjudged)
        notes.append(f"retrieved documents without judgment: {unjudged:,}, {share:.1f} % (label 0)")
    return tuple(notes)
