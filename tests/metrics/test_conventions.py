"""The peers are oracles: a convention gives their figure with ties, blanks, short lists and weights."""

import warnings

import numpy as np
import pytest

from rankloop.metrics import mean, metric

SEEDS = range(4)


def some_lists(seed, *, binary=False):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 14, 50)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    labels = rng.choice(5, offsets[-1], p=[0.7, 0.1, 0.1, 0.05, 0.05]).astype(np.float32)
    scores = rng.integers(0, 7, offsets[-1]) / 7 + (seed % 2) * rng.normal(size=offsets[-1])
    weight = rng.integers(1, 6, len(lengths)).astype(np.float32)
    return scores, np.minimum(labels, 1) if binary else labels, offsets, weight


def figure(name, convention, data, *, weighted, labels=None):
    scores, own, offsets, weight = data
    one = metric(name, convention=convention)
    return one.mean(one(scores, own if labels is None else labels, offsets), weight if weighted else None)


def lightgbm_figure(name, k, scores, labels, offsets, weight=None):
    import lightgbm

    lengths = np.diff(offsets)
    data = lightgbm.Dataset(
        np.arange(len(labels), dtype=np.float64)[:, None],
        labels,
        group=lengths,
        init_score=scores,
        weight=None if weight is None else np.repeat(weight, lengths),
        params={"verbose": -1, "min_data_in_bin": 1},
    )
    settings = {"objective": "lambdarank", "metric": name, "eval_at": [k], "verbose": -1, "num_threads": 1}
    return lightgbm.Booster(settings, data).eval_train()[0][2]


def xgboost_figure(name, scores, labels, offsets, weight=None):
    import xgboost

    lengths = np.diff(offsets)
    data = xgboost.DMatrix(
        np.zeros((len(labels), 1)),
        labels,
        qid=np.repeat(np.arange(len(lengths)), lengths),
        base_margin=scores.astype(np.float32),
        nthread=1,
    )
    if weight is not None:
        data.set_weight(weight)
    booster = xgboost.Booster({"objective": "rank:ndcg", "eval_metric": name, "nthread": 1}, [data])
    return float(booster.eval_set([(data, "it")]).split(":")[-1])


def catboost_figure(name, scores, labels, offsets, weight=None):
    from catboost.utils import eval_metric

    lengths = np.diff(offsets)
    return eval_metric(
        labels.astype(np.float64),
        scores,
        name,
        group_id=np.repeat(np.arange(len(lengths)), lengths),
        group_weight=None if weight is None else np.repeat(weight, lengths),
        thread_count=1,
    )[0]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize("name", ["ndcg", "map"])
def test_lightgbm(name, k, weighted, seed):
    data = some_lists(seed)
    theirs = lightgbm_figure(name, k, *data[:3], data[3] if weighted else None)
    assert figure(f"{name}@{k}", "lightgbm", data, weighted=weighted) == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["ndcg@1", "ndcg@3", "ndcg", "map@3", "map", "pre@3", "pre"])
def test_xgboost(name, weighted, seed):
    data = some_lists(seed, binary=not name.startswith("ndcg"))
    theirs = xgboost_figure(name, *data[:3], data[3] if weighted else None)
    ours = figure(name.replace("pre", "p"), "xgboost", data, weighted=weighted)
    assert ours == pytest.approx(theirs, abs=1e-9)


CATBOOST = {
    "ndcg": "NDCG",
    "ndcg@3": "NDCG:top=3",
    "ndcg(gain=exp2)@3": "NDCG:top=3;type=Exp",
    "dcg@3": "DCG:top=3",
    "map@3": "MAP:top=3",
    "map": "MAP",
    "mrr@3": "MRR:top=3",
    "mrr": "MRR",
    "err@3": "ERR:top=3",
    "err": "ERR",
    "p@3": "PrecisionAt:top=3",
    "recall@3": "RecallAt:top=3",
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", CATBOOST)
def test_catboost(name, weighted, seed):
    data = some_lists(seed)
    labels = data[1] / 4 if name.startswith("err") else data[1]
    theirs = catboost_figure(CATBOOST[name], data[0], labels, data[2], data[3] if weighted else None)
    ours = figure(name, "catboost", data, weighted=weighted, labels=labels)
    assert ours == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [None, 1, 4])
def test_scikit_learn(k, weighted, seed):
    from sklearn.metrics import dcg_score, ndcg_score

    rng = np.random.default_rng(seed)
    labels, scores = rng.choice(5, (30, 9), p=[0.8, 0.05, 0.05, 0.05, 0.05]), rng.integers(0, 4, (30, 9))
    weight = rng.integers(1, 6, 30)
    data = scores.ravel(), labels.ravel(), np.arange(0, 271, 9), weight
    for name, theirs in (("ndcg", ndcg_score), ("dcg", dcg_score)):
        ours = figure(name if k is None else f"{name}@{k}", "sklearn", data, weighted=weighted)
        expected = theirs(labels, scores, k=k, sample_weight=weight if weighted else None)
        assert ours == pytest.approx(expected, abs=1e-9)


TREC = {
    "ndcg": "ndcg",
    "ndcg@5": "ndcg_cut_5",
    "map": "map",
    "map@5": "map_cut_5",
    "mrr": "recip_rank",
    "p@5": "P_5",
    "recall@5": "recall_5",
    "success@5": "success_5",
    "rprec": "Rprec",
}


@pytest.mark.parametrize("seed", SEEDS)
def test_trec_eval(seed):
    """Unjudged and missing documents, ties broken by document id, scores equal in single precision."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    rng = np.random.default_rng(seed)
    run, judged, columns, lengths, pools = {}, {}, [], [], []
    for query in range(30):
        documents = [f"d{i}" for i in rng.permutation(40)[: rng.integers(1, 20)]]
        scores = rng.integers(0, 5, len(documents)) + 1e-9 * rng.random(len(documents))
        known = rng.choice([f"d{i}" for i in range(40)], 15, replace=False)
        grades = rng.choice(4, 15, p=[0.6, 0.2, 0.1, 0.1]) if query else np.zeros(15, int)
        judged[str(query)] = {str(d): int(g) for d, g in zip(known, grades, strict=True)}
        run[str(query)] = dict(zip(documents, map(float, scores), strict=True))
        columns += [(s, judged[str(query)].get(d, 0), d) for d, s in zip(documents, scores, strict=True)]
        lengths.append(len(documents))
        pools.append(grades)
    scores, labels, ids = map(np.array, zip(*columns, strict=True))
    theirs = pytrec_eval.RelevanceEvaluator(judged, set(TREC.values())).evaluate(run)
    for name, peer in TREC.items():
        ours = metric(name, convention="trec")(
            scores, labels, np.concatenate(([0], np.cumsum(lengths))), tie_break=ids,
            pool_labels=np.concatenate(pools), pool_offsets=np.arange(0, 451, 15),
        )  # fmt: skip
        expected = [theirs[str(query)][peer] for query in range(30)]
        np.testing.assert_allclose(ours, expected, atol=1e-9, err_msg=name)


def test_weighted_lists_with_nothing_relevant():
    """LightGBM prints an NDCG of 1.81 and XGBoost aborts; the weighted mean stays what it is."""
    import xgboost

    scores, labels, offsets = np.array([2.0, 1.0, 2.0, 1.0]), np.array([1, 0, 0, 0]), np.array([0, 2, 4])
    weight = np.array([1.0, 0.1])
    assert lightgbm_figure("ndcg", 2, scores, labels, offsets, weight) == pytest.approx(1.81, abs=0.01)
    with pytest.raises(xgboost.core.XGBoostError, match="Invalid output score"):
        xgboost_figure("ndcg@2", scores, labels, offsets, weight)
    values = metric("ndcg@2")(scores, labels, offsets)
    assert mean(values, weight) == 1.0
    assert mean(metric("ndcg(empty=zero)@2")(scores, labels, offsets), weight) == pytest.approx(1 / 1.1)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_weighted_mean_stays_within_its_values_and_knows_no_scale(seed):
    scores, labels, offsets, weight = some_lists(seed)
    values = metric("ndcg@5")(scores, labels, offsets)
    assert 0 <= mean(values, weight) <= 1
    assert mean(values, weight / 1024) == pytest.approx(mean(values, weight), rel=1e-12)
    assert mean(values, np.ones_like(weight)) == mean(values) == pytest.approx(np.nanmean(values))


def test_wrong_conventions_and_weights():
    with pytest.raises(ValueError, match="unknown convention 'lightgmb'; did you mean 'lightgbm'"):
        metric("ndcg", convention="lightgmb")
    with pytest.raises(ValueError, match="unknown metric of convention 'lightgbm' 'err'"):
        metric("err", convention="lightgbm")
    with pytest.raises(ValueError, match=r"one weight per list \(2\)"):
        mean([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="got -1 for list 1"):
        mean([1.0, 2.0], [1.0, -1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.all(np.isnan([mean([]), mean([np.nan]), mean([1.0], [0.0])]))
