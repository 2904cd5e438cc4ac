"""Fusions that judgments choose."""

import numpy as np
import pytest

from rankloop.data import Qrels, Run
from rankloop.metrics import evaluate
from rankloop.rankers import fuse, tune_fusion


def noisy(strengths, queries, seed):
    """Runs that know the one relevant document of each query more or less well, and the judgments."""
    rng = np.random.default_rng(seed)
    relevant = rng.integers(0, 10, queries)
    runs = [
        Run.from_dict(
            {
                f"q{q}": {f"d{d}": float(s * (d == relevant[q]) + rng.normal()) for d in range(10)}
                for q in range(queries)
            }
        )
        for s in strengths
    ]
    return runs, {f"q{q}": {f"d{relevant[q]}": 1} for q in range(queries)}


def test_the_value_is_that_of_the_run_it_gives():
    runs, qrels = noisy((3.0, 1.0, 0.0), 40, 0)
    found = tune_fusion(runs, qrels, "ndcg@5")
    assert evaluate(found.run, qrels, "ndcg@5").mean["ndcg@5"] == pytest.approx(found.value)
    assert evaluate(fuse(runs), qrels, "ndcg@5").mean["ndcg@5"] == pytest.approx(found.equal)
    assert found.value > found.equal
    again = fuse(runs, found.method, **found.options)
    assert again.to_dict() == found.run.to_dict()
    assert tune_fusion(runs, Qrels.from_dict(qrels), "ndcg@5").to_dict() == found.to_dict()
    assert "on queries held out" in repr(found)


def test_held_out_queries_show_no_gain_where_there_is_none():
    """Of two runs of pure noise no fusion is better; what was tuned looks better only where it was tuned."""
    gains, held_out = [], []
    for seed in range(20):
        runs, qrels = noisy((0.0, 0.0), 30, seed)
        found = tune_fusion(runs, qrels, "mrr", folds=3)
        gains.append(found.value - found.equal)
        held_out.append(found.held_out - found.equal)
    error = np.std(held_out) / np.sqrt(len(held_out))
    assert np.mean(gains) > 0.02
    assert abs(np.mean(held_out)) < 3 * error


def test_a_metric_of_which_less_is_better_and_a_fixed_method():
    runs, qrels = noisy((3.0, 0.0), 20, 1)
    found = tune_fusion(runs, qrels, "arp", method="comb_sum")
    assert found.method == "comb_sum"
    assert found.options["weights"][0] > found.options["weights"][1]
    assert 1 <= found.value < found.equal
    assert evaluate(found.run, qrels, "arp").mean["arp"] == pytest.approx(found.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "borda"}, "unknown method 'borda'"),
        ({"metric": "ndgc"}, "did you mean 'ndcg'"),
        ({"judgments": {"z": {"d1": 1}}}, "0 queries of the runs are judged"),
        ({"runs": []}, "fuse takes a sequence of runs|need at least one"),
    ],
)
def test_mistakes(options, message):
    runs, qrels = noisy((1.0, 1.0), 5, 0)
    given = {"runs": runs, "judgments": qrels, **options}
    with pytest.raises(ValueError, match=message):
        tune_fusion(given.pop("runs"), given.pop("judgments"), **given)
