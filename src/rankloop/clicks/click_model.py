"""What all click models share: fit, sample, click probabilities, likelihood, relevance, saving."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop._arrays import Floats, Ints
from rankloop._names import one_of
from rankloop.clicks.aggregate import Aggregate
from rankloop.clicks.click_log import ClickLog
from rankloop.clicks.fitting.behaviour import Behaviour, conditional, draw, marginal
from rankloop.clicks.fitting.evidence import Evidence
from rankloop.clicks.fitting.fit import Problem, Values, em, gradient, pooled
from rankloop.clicks.fitting.folds import folds
from rankloop.clicks.fitting.pages import Pages, Shown, pages_of
from rankloop.clicks.fitting.parameters import ByPair, Parameter, by_document, by_rank
from rankloop.clicks.fitting.shrink import Ranks, centred, strengths, unseen
from rankloop.clicks.perplexity import Perplexity
from rankloop.clicks.simulation.random import key_of
from rankloop.data import RankingDataset

__all__ = ["ClickModel"]


@dataclass(eq=False, kw_only=True, repr=False)
class ClickModel(ABC):
    """The contract. Parameters given to the constructor are kept; `fit` learns the others.

    `prior` shrinks the parameters of documents. "auto" (empirical Bayes) chooses the strength of their Beta
    priors by held-out pages (`strength_`), centred on the documents of the same rank, or on those of the
    first in models that say how often each rank is examined; they also choose how far the centre moves with
    the query, and with the document over all queries. A number is a strength in impressions, around
    the value that fits all documents best; a pair gives pseudo-counts (successes, failures) directly. What
    all documents share has a symmetric prior of this strength (two impressions with "auto").
    """

    prior: str | float | tuple[float, float] = "auto"
    iterations: int = 200
    tolerance: float = 1e-8  # stop when the log-likelihood per impression improves by less
    l2: float = 1e-6  # on the weights of features

    documents: ClassVar[tuple[str, ...]] = ("attraction",)  # one probability per (query, document)
    ranked: ClassVar[tuple[str, ...]] = ()  # one per rank
    scalars: ClassVar[tuple[str, ...]] = ()  # one
    from_features: ClassVar[bool] = True  # whether features can replace parameters by document
    reads_ranks: ClassVar[bool] = False  # whether ranks have parameters that explain their click rates

    def fit(
        self,
        log: ClickLog | Aggregate,
        data: RankingDataset | None = None,
        *,
        features: RankingDataset | None = None,
        method: str | None = None,
    ) -> Self:
        """Learn the parameters that were not given, by EM or (always with `features`) by gradient.

        `features` makes the parameters of documents logistic in the features of that data set; `data`
        holds the grades that given parameters may depend on.
        """
        how = one_of("method", method or ("em" if features is None else "gradient"), ("em", "gradient"))
        if features is not None and how == "em":
            raise ValueError("parameters from features are fitted by gradient; leave method out")
        if features is not None and not (self.documents and self.from_features):
            raise ValueError(
                f"{type(self).__name__} has no parameters that features could explain; fit it without"
            )
        seen = Evidence.of(log, data if features is None else features)
        problem = self._problem(seen)
        for name in (*self.documents, *self.ranked, *self.scalars):
            given = getattr(self, name)
            if given is not None:
                problem.start[name] = self._given(name, given, seen, problem.start[name])
                problem.held[name] = np.ones(len(problem.start[name]), bool)
        self._centre(problem, seen, fixed=features is not None)
        linear: dict[str, Any] = {}
        if how == "em":
            values, history = em(problem, self.iterations, self.tolerance)
        else:
            learn = [name for name in self.documents if getattr(self, name) is None]
            X = {} if features is None else dict.fromkeys(learn, seen.pair_features())
            problem.prior.update(dict.fromkeys(X, (0.0, 0.0)))  # weights have their own: l2
            values, linear, history = gradient(problem, self.iterations, self.tolerance, X, self.l2)
        self.learned_: dict[str, Any] = {
            name: linear[name] if name in linear else self._stored(name, value, seen, problem)
            for name, value in values.items()
        }
        self.history_ = np.array(history)
        problem.check(values)
        return self

    def sample(
        self,
        shown: Shown,
        data: RankingDataset | None = None,
        *,
        offsets: ArrayLike | None = None,
        seed: int | np.random.Generator = 0,
    ) -> NDArray[np.int8]:
        """One click or non-click per impression.

        `shown` is a log (its clicks are not used), a data set whose lists are shown in their own order, or
        grades in displayed order with `offsets`.
        """
        pages = pages_of(shown, data, offsets)
        return draw(pages, self._behaviour(pages, pages.depth), key_of(seed))

    def click_probability(
        self, shown: Shown, data: RankingDataset | None = None, *, offsets: ArrayLike | None = None
    ) -> Floats:
        """P(click) of each impression, before anything is clicked."""
        pages = pages_of(shown, data, offsets)
        return marginal(pages, self._behaviour(pages, pages.depth))

    def conditional_click_probability(self, log: ClickLog, data: RankingDataset | None = None) -> Floats:
        """P(click | the clicks above it on the page) of each impression."""
        pages = pages_of(log, data)
        return conditional(pages, self._behaviour(pages, pages.depth))

    def conditional_examination(self, log: ClickLog, data: RankingDataset | None = None) -> Floats:
        """P(examined | the clicks above it on the page) of each impression."""
        pages = pages_of(log, data)
        reader = self._behaviour(pages, pages.depth)
        if "attraction" not in self.documents or reader.floor.any():
            raise ValueError(f"{type(self).__name__} has clicks without examination; fit a PBM or a DBN")
        least = np.maximum(reader.attraction, 1e-9)  # a divisor
        return conditional(pages, reader._replace(attraction=least)) / least

    def log_likelihood(self, log: ClickLog, data: RankingDataset | None = None) -> Floats:
        """The natural logarithm of the probability of each page's clicks; `-inf` if they are impossible."""
        terms = _log(self.conditional_click_probability(log, data), log.click)
        ends = np.concatenate(([0.0], np.cumsum(np.where(np.isfinite(terms), terms, 0.0))))
        impossible = np.concatenate(([0], np.cumsum(~np.isfinite(terms))))
        pages = ends[log.offsets[1:]] - ends[log.offsets[:-1]]
        return np.where(np.diff(impossible[log.offsets]) > 0, -np.inf, pages)

    def perplexity(
        self, log: ClickLog, data: RankingDataset | None = None, *, given_clicks: bool = False
    ) -> Perplexity:
        """2 to the mean negative log2-likelihood of a click, given the clicks above or not."""
        p = (
            self.conditional_click_probability(log, data)
            if given_clicks
            else self.click_probability(log, data)
        )
        bits = -_log(p, log.click) / np.log(2)
        count = np.bincount(log.position - 1).astype(np.float64)
        with np.errstate(invalid="ignore"):
            per_rank = np.bincount(log.position - 1, bits) / np.where(count > 0, count, np.nan)
        return Perplexity(float(2 ** np.mean(bits)), 2**per_rank)

    def relevance(self, shown: Shown, data: RankingDataset | None = None) -> Floats:
        """The model's estimate of relevance, one per impression (or row of a data set)."""
        if "attraction" not in self.documents:
            raise ValueError(f"{type(self).__name__} has no parameters of documents; fit a PBM or a DBN")
        return self._document("attraction", pages_of(shown, data), ranked=False)

    def save(self, path: str | Path) -> None:
        """One file, without pickle; `rankloop.clicks.load_model` reads it."""
        from rankloop.clicks.load_model import save

        save(self, path)

    @property
    def relevance_(self) -> Any:
        """The learned relevance by (query, document)."""
        return self._learned("attraction")

    def __getattr__(self, name: str) -> Any:
        if name.endswith("_") and name[:-1] in (*self.documents, *self.ranked, *self.scalars):
            return self._learned(name[:-1])
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __repr__(self) -> str:
        state = "fitted" if "learned_" in self.__dict__ else "as given"
        return f"<{type(self).__name__}, {state}>"

    @abstractmethod
    def _problem(self, seen: Evidence) -> Problem:
        """The parameters of this model on the evidence, and their expected counts."""

    @abstractmethod
    def _behaviour(self, pages: Pages, depth: int) -> Behaviour:
        """The reader this model describes, on these pages."""

    def _learned(self, name: str) -> Any:
        given = getattr(self, name)
        if given is not None:
            return given
        learned: dict[str, Any] = self.__dict__.get("learned_", {})
        if name not in learned:
            raise ValueError(
                f"{type(self).__name__} has no {name} yet: fit it on a log, or give {name}= when making it"
            )
        return learned[name]

    def _document(self, name: str, pages: Pages, *, ranked: bool = True) -> Floats:
        """A parameter of each document; where it was never seen, what its rank says, or all documents do."""
        parameter: Parameter = by_document(self._learned(name), name)
        if not ranked and isinstance(parameter, ByPair):
            parameter = replace(parameter, unseen=None)
        return parameter.at(pages)

    def _rank(self, name: str, depth: int) -> Floats:
        return by_rank(self._learned(name), depth, name)

    def _scalar(self, name: str) -> float:
        return float(by_rank(self._learned(name), 1, name)[0])

    def _given(self, name: str, given: Any, seen: Evidence, like: Floats) -> Floats:
        """A given parameter in the form in which it would be learned."""
        if name in self.documents:
            return seen.by_pair(by_document(given, name))
        return by_rank(given, len(like), name)

    def _stored(self, name: str, value: Floats, seen: Evidence, problem: Problem) -> Any:
        """A learned parameter in the form in which it would be given; the prior's centre for the unseen."""
        if name in self.documents:
            table = seen.table(value, problem.centre(name))
            known = name in problem.centres
            return unseen(table, problem.centres[name], self._rank_of_entry(seen)) if known else table
        return float(value[0]) if name in self.scalars else value

    def _rank_of_entry(self, seen: Evidence) -> Ints:
        """For each entry of a parameter of documents the index of the rank where it was shown."""
        return seen.usual_rank

    def _centre(self, problem: Problem, seen: Evidence, *, fixed: bool) -> None:
        """Start documents at, and shrink them to, a value that fits many of them."""
        free = [name for name in self.documents if getattr(self, name) is None]
        if isinstance(self.prior, tuple):
            return
        strength = 1.0 if isinstance(self.prior, str) else self.prior
        if isinstance(self.prior, str):
            problem.start.update(
                {name: value for name, value in problem.alike.items() if getattr(self, name) is None}
            )
        for name, value in pooled(problem, free).items():
            problem.start[name][:] = value
            problem.prior[name] = strength * value, strength * (1 - value)
        if isinstance(self.prior, str) and free and not fixed:
            rank = self._rank_of_entry(seen)
            each, names = len(rank) // seen.n_pairs, seen.names
            groups = {"query": np.repeat(names.query, each), "document": np.repeat(names.document, each)}
            ranks = Ranks(free, rank, self.reads_ranks, groups)
            self.strength_ = strengths(self._folds(seen, problem), ranks)
            problem.start, problem.centres = centred(problem, self.strength_, ranks)

    def _folds(self, seen: Evidence, whole: Problem) -> list[tuple[Problem, Problem]]:
        """The same problem on parts of the pages, and on the pages held out."""
        parts = []
        for pair in folds(seen):
            if min(len(part.pages) for part in pair) == 0:  # of a log with fewer pages than folds
                continue
            train, held = (self._problem(part) for part in pair)
            train.start = {name: value.copy() for name, value in whole.start.items()}
            train.prior, train.held = dict(whole.prior), whole.held
            parts.append((train, held))
        return parts

    def _make(self, seen: Evidence, expect: Any, **start: Floats) -> Problem:
        """A problem with this model's priors; those of parameters that all documents share are symmetric."""
        if isinstance(self.prior, str):
            one_of("prior", self.prior, ("auto",))
            pair = 1.0, 1.0
        else:
            pair = self.prior if isinstance(self.prior, tuple) else (self.prior / 2, self.prior / 2)
        if min(pair) < 0:
            raise ValueError(f"prior holds pseudo-counts >= 0, got {self.prior}")
        even = (sum(pair) / 2, sum(pair) / 2)
        values: Values = {**{name: seen.start() for name in self.documents}, **start}
        prior: dict[str, Any] = {name: pair if name in self.documents else even for name in values}
        return Problem(values, expect, prior, seen.impressions)


def _log(p: Floats, click: NDArray[np.int8]) -> Floats:
    with np.errstate(divide="ignore"):
        return np.where(click == 1, np.log(p), np.log1p(-np.minimum(p, 1.0)))
