"""Weights of words and vectors that depend on the query."""

from collections.abc import Sequence
from itertools import combinations
from math import log, log1p
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rankloop import _archive
from rankloop._arrays import Floats
from rankloop.search.bm25 import idf
from rankloop.search.candidates import Candidates
from rankloop.search.retriever import Retriever, unit_scores
from rankloop.search.stage import Stage
from rankloop.search.tune_weights import tune_weights

if TYPE_CHECKING:
    from rankloop.metrics.results.verdict import Verdict
    from rankloop.search.judged_lists import Judgments, Queries

__all__ = ["HybridWeights", "looks"]

TOP = 10  # ranks of each list that are looked at
_KIND, _AGAIN = "hybrid weights", "fit and save the pipeline again"
_SETTINGS = ("loss", "k", "folds", "confidence", "seed")
_LEARNED = ("sources_", "tuned_")


class HybridWeights(Stage):
    r"""A stage after a hybrid retriever: weights of its sources that depend on the query and its lists.

    .. math:: \mathrm{score}(d) = \sum_s (a_s + b_s \cdot z_q) \, u_s(d)

    with the score :math:`u_s` of each source brought to 0..1, and :math:`z_q` the number of words, their idf
    and clarity, the best score, gap and spread of each list, and the overlap of the lists. The weights are
    those of `LinearRanker` under `loss`. They are used only if they are better than one weight per source on
    queries that they were not learned from (`folds` parts, paired NDCG@k): the interval of the gain must be
    above 0. Else `ranker_` is None and single weights serve: those of the retriever, or `weights_` where it
    has none. `verdict_` holds the comparison. `retriever >> HybridWeights()` is fitted by `fit` of the
    pipeline, and saved with it.
    """

    def __init__(
        self,
        *,
        loss: str = "lambdarank",
        k: int = 10,
        folds: int = 5,
        confidence: float = 0.95,
        seed: int = 0,
    ) -> None:
        if folds < 2:
            raise ValueError(f"folds is at least 2, got {folds}")
        self.loss, self.k, self.folds, self.confidence, self.seed = loss, k, folds, confidence, seed

    def fit(self, retriever: Retriever, queries: "Queries", judgments: "Judgments") -> Self:
        """Learn from judged queries (id -> text) and judgments (id -> document -> grade)."""
        from rankloop.search.judged_lists import grades_of, judged_queries

        if retriever.sources < 2:
            raise ValueError("one source needs no weights; give a retriever of words and vectors")
        grades = grades_of(judgments)
        pools, shapes, labels = [], [], []
        for qid, query in judged_queries(queries, grades).items():
            found = retriever(query)
            if len(found.sources) < 2:
                continue
            own = [max(grades[qid].get(str(id), 0.0), 0.0) for id in found.ids.tolist()]
            if max(own, default=0.0) > 0:
                self.sources_ = list(found.sources)
                pools.append(_units(found))
                shapes.append(looks(found))
                labels.append(own)
        if len(pools) < 2 * self.folds:
            raise ValueError(
                f"at least {2 * self.folds} queries with a relevant document among the results of several "
                f"sources are needed, got {len(pools)}"
            )
        self.learn(pools, np.array(shapes), labels)
        self.tuned_ = retriever.weights is not None
        return self

    def learn(self, pools: Sequence[Floats], shapes: Floats, labels: Sequence[Sequence[float]]) -> None:
        """The same from arrays: per query the scores (documents x sources), its looks, and labels."""
        from rankloop.data import RankingDataset
        from rankloop.metrics import compare

        part = np.random.default_rng(self.seed).permutation(len(pools)) % self.folds
        single, each = [np.empty(0)] * len(pools), [np.empty(0)] * len(pools)
        for fold in range(self.folds):
            rest = np.flatnonzero(part != fold)
            weights = self._tuned(pools, labels, rest)
            ranker = self._ranker(pools, shapes, labels, rest)
            for q in np.flatnonzero(part == fold).tolist():
                single[q] = pools[q] @ weights
                each[q] = ranker.predict(_products(pools[q], shapes[q]))
        qid = np.repeat(np.arange(len(pools)), [len(one) for one in pools])
        held = RankingDataset(np.zeros((len(qid), 1), np.float32), np.concatenate(labels), qid)
        metric = f"ndcg@{self.k}"
        systems = {"single": np.concatenate(single), "each": np.concatenate(each)}
        found = compare(systems, held, metric, seed=self.seed, confidence=self.confidence)
        self.verdict_: Verdict = found.verdicts[metric]["each"]
        every = np.arange(len(pools))
        self.weights_ = self._tuned(pools, labels, every)
        self.ranker_ = self._ranker(pools, shapes, labels, every) if self.verdict_.low > 0 else None

    def __call__(self, given: Candidates) -> Candidates:
        """The same documents, fused again with the weights of this query."""
        if not hasattr(self, "weights_"):
            raise ValueError("HybridWeights is not fitted; call fit(retriever, queries, judgments)")
        if not len(given) or len(given.sources) < 2:
            return given
        if list(given.sources) != self.sources_:
            raise ValueError(
                f"it learned weights of {self.sources_}, the candidates have {list(given.sources)}"
            )
        if self.ranker_ is None and self.tuned_:
            return given
        pool = _units(given)
        if self.ranker_ is None:
            return given.scored(pool @ self.weights_)
        return given.scored(self.ranker_.predict(_products(pool, looks(given))))

    def __repr__(self) -> str:
        return f"HybridWeights(loss={self.loss!r})"

    def to_bytes(self) -> bytes:
        """What it learned, for the file of a pipeline."""
        from rankloop.rankers.saving.load import dumps

        if not hasattr(self, "weights_"):
            raise ValueError("HybridWeights is not fitted; fit it before it is saved")
        about = {name: getattr(self, name) for name in (*_SETTINGS, *_LEARNED)}
        about["verdict_"] = self.verdict_._asdict()
        members: dict[str, _archive.Member] = {"weights": self.weights_}
        if self.ranker_ is not None:
            members["ranker"] = dumps(self.ranker_)
        return _archive.pack(_KIND, about, members)

    @classmethod
    def from_bytes(cls, whole: bytes) -> "HybridWeights":
        """The stage whose `to_bytes` these are."""
        from rankloop.metrics.results.verdict import Verdict
        from rankloop.rankers.saving.load import loads

        about, members = _archive.unpack(whole, _KIND, again=_AGAIN)
        made = cls(**{name: about[name] for name in _SETTINGS})
        for name in _LEARNED:
            setattr(made, name, about[name])
        made.verdict_ = Verdict(**about["verdict_"])
        made.weights_ = np.asarray(members["weights"], np.float64)
        if made.weights_.shape != (len(made.sources_),):
            raise ValueError(f"the hybrid weights are damaged: they do not fit their sources; {_AGAIN}")
        ranker = members.get("ranker")
        made.ranker_ = loads(ranker) if isinstance(ranker, bytes) else None
        return made

    def _tuned(self, pools: Sequence[Floats], labels: Sequence[Any], rows: Any) -> Floats:
        named = [{str(s): pools[q][:, s] for s in range(pools[q].shape[1])} for q in rows]
        weights, _ = tune_weights(named, [labels[q] for q in rows], k=self.k)
        return np.array(list(weights.values()))

    def _ranker(self, pools: Sequence[Floats], shapes: Floats, labels: Sequence[Any], rows: Any) -> Any:
        from rankloop.data import RankingDataset
        from rankloop.rankers import LinearRanker

        X = np.concatenate([_products(pools[q], shapes[q]) for q in rows])
        qid = np.repeat(rows, [len(pools[q]) for q in rows])
        return LinearRanker(loss=self.loss, metric=f"ndcg@{self.k}").fit(
            RankingDataset(X, np.concatenate([labels[q] for q in rows]), qid)
        )


def looks(found: Candidates) -> Floats:
    """What a query and its lists look like: numbers from which the weights of sources may be predicted."""
    snapshot = found.snapshot
    words = [leaf for leaf in found.leaves if leaf.df is None]
    rarity = [idf(snapshot.n_documents, snapshot.df(leaf.field, leaf.term)) for leaf in words] or [0.0]
    made = [log1p(len({leaf.term for leaf in words})), max(rarity), float(np.mean(rarity)), _clarity(found)]
    for name, scores in found.sources.items():
        best = np.sort(scores[~np.isnan(scores)])[::-1]
        if not len(best):
            made += [0.0] * 4
            continue
        reach = max(float(best[0] - best[-1]), 1e-12)
        second = best[1] if len(best) > 1 else best[0]
        listed = float((found.ranks[name] > 0).mean())
        made += [float(best[0]), float(best[0] - second) / reach, float(best[:TOP].std()) / reach, listed]
    for one, two in combinations(found.ranks.values(), 2):
        made.append(float(((one > 0) & (one <= TOP) & (two > 0) & (two <= TOP)).sum()) / TOP)
    return np.array(made)


def _clarity(found: Candidates) -> float:
    """The simplified clarity of He & Ounis (2004): how far the words are from those of the collection."""
    snapshot = found.snapshot
    counted = [(leaf, snapshot.total(leaf.field, leaf.term)) for leaf in found.leaves if leaf.df is None]
    known = [(leaf, times) for leaf, times in counted if times > 0]
    mass = sum(leaf.weight for leaf, _ in known)
    total = 0.0
    for leaf, times in known:
        chance = leaf.weight / mass
        everywhere = times / max(float(snapshot.average_lengths[leaf.field]) * snapshot.n_documents, 1.0)
        total += chance * log(chance / everywhere)
    return total


def _units(found: Candidates) -> Floats:
    """The scores of the sources, each brought to 0..1: documents x sources."""
    return np.column_stack([unit_scores(scores) for scores in found.sources.values()])


def _products(pool: Floats, shape: Floats) -> Floats:
    """The scores of each source, and each times what the query looks like."""
    return np.hstack([pool, *(pool * number for number in shape)])
