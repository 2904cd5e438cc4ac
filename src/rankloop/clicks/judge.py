"""Judgments from clicks: what a click model says of each document, with intervals."""

import numpy as np

from rankloop._arrays import Floats
from rankloop._student import check_confidence
from rankloop.clicks.click_log import ClickLog
from rankloop.clicks.click_model import ClickModel
from rankloop.clicks.columns.wilson import wilson
from rankloop.clicks.labels import ClickLabels
from rankloop.data import Judgment, Judgments

__all__ = ["judge"]


def judge(
    log: ClickLog, model: str | ClickModel | ClickLabels = "pbm", *, confidence: float = 0.95
) -> Judgments:
    """Estimate the relevance of every document shown, from 0 to 1, as judgments for other tools.

    `model` is a click model by name (fitted here), a fitted one, or labels of `clicks.labels`. The interval
    is Wilson's, of the clicks on the document, divided by how often the model thinks it was examined: it
    says how few clicks there are, not how wrong the model may be. A model whose relevance is more than being
    attractive (DBN: satisfying as well) and labels have no interval. Tools that take whole grades take
    `judge(log).graded(3)`.

    >>> log = ClickLog([1, 2, 3], ["tv"] * 3, ["a"] * 3, [1] * 3, [1, 0, 1])
    >>> from rankloop.clicks import PBM
    >>> row = judge(log, PBM(examination=[1.0], prior=0.0).fit(log)).rows[0]
    >>> round(row.rating, 4), round(row.low, 4), round(row.high, 4)
    (0.6667, 0.2077, 0.9385)
    """
    check_confidence(confidence)
    if isinstance(model, ClickLabels):
        unknown = np.full(len(model), np.nan)
        pairs, values, low, high, shown = model.pairs, model.values, unknown, unknown, model.impressions
        rater = "clicks"
    else:
        if isinstance(model, str):
            from rankloop.clicks import model as named

            model = named(model)().fit(log)
        pairs, rater = log.pairs, type(model).__name__
        shown = np.bincount(pairs.code, minlength=len(pairs))
        values = np.bincount(pairs.code, model.relevance(log), len(pairs)) / shown
        low, high = _interval(log, model, values, confidence)
    query, document = pairs.queries[pairs.query].tolist(), pairs.documents[pairs.document].tolist()
    return Judgments(
        tuple(
            Judgment(
                str(query[i]),
                str(document[i]),
                float(values[i]),
                rater=rater,
                reason=_reason(low[i], high[i], int(shown[i]), confidence),
                low=float(low[i]),
                high=float(high[i]),
            )
            for i in range(len(values))
        ),
        name=f"{rater} of clicks",
    )


def _interval(log: ClickLog, model: ClickModel, values: Floats, confidence: float) -> tuple[Floats, Floats]:
    """The interval of each pair; nan where the model's relevance is not attraction alone."""
    code, count = log.pairs.code, len(log.pairs)
    unknown = np.full(count, np.nan)
    try:
        examined = model.conditional_examination(log)
    except ValueError:  # clicks without examination
        return unknown, unknown
    looks = np.bincount(code, examined, count)
    expected = np.bincount(code, model.conditional_click_probability(log), count)
    if not np.allclose(expected, values * looks, rtol=1e-6, atol=1e-9):
        return unknown, unknown
    shown = np.bincount(code, minlength=count).astype(np.float64)
    clicks = np.bincount(code, log.click, count).astype(np.float64)
    _, low, high = wilson(clicks, shown, confidence)
    rate = np.maximum(looks / shown, 1e-9)
    return np.minimum(low / rate, values), np.maximum(np.minimum(high / rate, 1.0), values)


def _reason(low: float, high: float, shown: int, confidence: float) -> str:
    between = "" if np.isnan(low) else f"between {low:.2f} and {high:.2f} at {confidence:.0%}; "
    return f"{between}shown {shown:,} times"
