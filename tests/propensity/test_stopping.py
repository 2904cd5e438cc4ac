"""People who stop reading after what they liked: a curve by rank does not describe them, and says so."""

import numpy as np
import pytest
from scipy import stats

from rankloop.clicks import ClickLog
from rankloop.propensity import Propensity, harvest
from rankloop.propensity.fitting import stopping as module
from rankloop.propensity.fitting.stopping import stopping


def shown(seed, *, stop, pages=1500, user=None):
    """Pages of four documents in random order; with `stop` each is seen unless one above satisfied."""
    rng = np.random.default_rng(seed)
    gamma = np.random.default_rng(0).beta(1, 2, (20, 4))
    query = rng.integers(0, 20, pages)
    order = np.argsort(rng.random((pages, 4)), axis=1)
    liked = gamma[query[:, None], order]
    left = np.cumprod(1 - 0.9 * liked, axis=1)
    seen = np.column_stack([np.ones(pages), left[:, :-1]]) if stop else 1.0 / np.arange(1, 5)
    click = rng.random((pages, 4)) < liked * seen
    rows = np.repeat(np.arange(pages), 4)
    columns = {} if user is None else {"user": user[rows]}
    document = (4 * query[:, None] + order).ravel()
    return ClickLog(
        rows, query[rows], document, np.tile([1, 2, 3, 4], pages), click.ravel().astype(np.int8), **columns
    )


def naive(log, person):
    """The test in plain loops over the rows."""
    rows = list(
        zip(
            log.row_page.tolist(),
            log.document.tolist(),
            log.position.tolist(),
            log.click.tolist(),
            strict=True,
        )
    )
    rank_rate = {k: np.mean([c for _, _, p, c in rows if p == k]) for k in {p for _, _, p, _ in rows}}
    liked = {}
    for document in {d for _, d, _, _ in rows}:
        own = [(rank_rate[p], c) for _, d, p, c in rows if d == document]
        liked[document] = (sum(c for _, c in own) + 1) / (sum(rate for rate, _ in own) + 1)
    above = [sum(liked[d] for page, d, p, _ in rows if page == at and p < rank) for at, _, rank, _ in rows]
    cells = {}
    for i, (_, d, p, _) in enumerate(rows):
        cells.setdefault((d, p), []).append(i)
    score = {}
    for i, (page, d, p, c) in enumerate(rows):
        alike = cells[d, p]
        rest = c - np.mean([rows[j][3] for j in alike])
        more = above[i] - np.mean([above[j] for j in alike])
        score[person[page]] = score.get(person[page], 0.0) + rest * more
    each = np.array(list(score.values()))
    freedom = np.sum(each**2) ** 2 / np.sum(each**4) - 1
    return stats.t.cdf(each.sum() / np.sqrt(np.sum(each**2)), max(freedom, 1))


@pytest.mark.parametrize("known", [True, False])
def test_it_is_what_plain_loops_find(known):
    person = np.arange(40) // 3
    log = shown(3, stop=True, pages=40, user=person if known else None)
    assert stopping(log) == pytest.approx(naive(log, person if known else np.arange(40)))


def test_people_who_stop_are_seen_and_others_are_not():
    assert max(stopping(shown(seed, stop=True)) for seed in range(10)) < 0.01
    assert sum(stopping(shown(seed, stop=False)) < 0.05 for seed in range(40)) <= 6


@pytest.mark.filterwarnings("ignore::rankloop.propensity.TrustWarning")
def test_the_curve_says_it(tmp_path):
    curve = harvest(shown(1, stop=True), resamples=50)
    assert "people stop reading, and no curve by rank describes them" in repr(curve)
    curve.save(tmp_path / "curve.json")
    assert Propensity.load(tmp_path / "curve.json").stopping == curve.stopping
    assert "stop reading" not in repr(harvest(shown(1, stop=False), resamples=50))


def test_one_order_of_documents_tells_nothing():
    log = shown(1, stop=True)
    sorted_ = ClickLog(
        log.session, log.query, 4 * log.query + log.position - 1, log.position, log.click
    )  # the same four below each other on every page
    assert stopping(sorted_) is None
    assert Propensity.given([1.0, 0.5]).stopping is None


def test_a_large_log_is_looked_at_in_part(monkeypatch):
    monkeypatch.setattr(module, "PAGES", 750)
    log = shown(2, stop=True)
    some = log.select(np.linspace(0, 1499, 750).astype(np.int64))
    assert stopping(log) == stopping(some) < 0.05
