"""AutoRanker: a budget that is kept, a mixture that is explained, and what happens when it is interrupted."""

import time
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

import rankloop as rl
from rankloop.data import RankingDataset, synthetic
from rankloop.metrics import metric
from rankloop.rankers import AutoRanker, LambdaMART, contributions
from rankloop.rankers.auto import clock
from rankloop.rankers.auto import search as searching
from rankloop.rankers.auto.bags import Folds
from rankloop.rankers.auto.candidates import Candidate, first_candidates, installed_backends, neighbours
from rankloop.rankers.auto.division import divided
from rankloop.rankers.auto.failures import told
from rankloop.rankers.auto.mixture import _chosen as chosen
from rankloop.rankers.auto.search import Tried
from rankloop.rankers.auto.stack import stack
from rankloop.rankers.auto.view import View, missing_features, varying_features
from rankloop.rankers.base.per_list import normalised


@pytest.fixture(scope="module")
def sets():
    return synthetic(n_queries=150, docs_per_query=12, n_features=6, seed=4).split(0.5, 0.2, seed=0)


@pytest.fixture(scope="module")
def mixture(sets):
    return AutoRanker(fits=6, members=3, folds=3, divisions=1, threads=1, seed=0).fit(*sets[:2])


def ndcg(ranker, data):
    return float(np.nanmean(metric("ndcg@10")(ranker.predict(data), data.y, data.offsets)))


def test_a_mixture_is_as_good_as_its_best_part(sets, mixture):
    test = sets[2]
    single = LambdaMART(trees=300, threads=1).fit(*sets[:2])
    assert ndcg(mixture, test) > ndcg(single, test) - 0.01
    assert sum(part.weight for part in mixture.parts_) == pytest.approx(1, abs=0.01)
    assert all(len(part.rankers) == 3 for part in mixture.parts_)


def test_the_score_is_the_weighted_mean_of_scores_within_lists(sets, mixture):
    test = sets[2]
    wanted = np.zeros(test.n_documents)
    for part in mixture.parts_:
        rows = part.view.data(test)
        for one in part.rankers:
            scores = normalised(one.predict(rows), test.offsets, "zscore")
            wanted += part.weight * scores / len(part.rankers)
    np.testing.assert_allclose(mixture.predict(test), wanted, atol=1e-12)


def test_the_leaderboard_and_its_reasons(mixture):
    board = mixture.leaderboard_
    values = [float(row[2]) for row in board.rows]
    assert len(values) == 6
    assert values == sorted(values, reverse=True)
    assert "6 models were tried on the validation set" in board.plain()
    assert str(board) == board.plain()
    assert any("weights" in reason for reason in mixture.reasons_)


def test_scores_of_the_validation_set_are_by_models_that_did_not_see_it(sets, mixture):
    """One fold in three left the validation set out: its models alone give these scores."""
    valid = sets[1]
    wanted = np.zeros(valid.n_documents)
    for part in mixture.parts_:
        first = part.rankers[0].predict(part.view.data(valid))
        wanted += part.weight * normalised(first, valid.offsets, "zscore")
    np.testing.assert_allclose(mixture.valid_scores_, wanted, atol=1e-12)
    unseen = float(np.nanmean(metric("ndcg@10")(mixture.valid_scores_, valid.y, valid.offsets)))
    assert mixture.metrics_["valid"]["ndcg@10"] == pytest.approx(unseen)


def test_models_fitted_on_all_queries_leave_no_figure_of_the_validation_set(sets, monkeypatch):
    monkeypatch.setattr("rankloop.rankers.auto.mixture.folds_for", lambda *_: Folds(*_[1:3], 4, 1, True, 0))
    ranker = AutoRanker(fits=3, backends=["lightgbm"], threads=1).fit(*sets[:2])
    assert any(len(part.rankers) == 2 for part in ranker.parts_)
    valid = sets[1]
    unseen = float(np.nanmean(metric("ndcg@10")(ranker.valid_scores_, valid.y, valid.offsets)))
    assert ranker.metrics_["valid"]["ndcg@10"] == pytest.approx(unseen)
    assert unseen != pytest.approx(ndcg(ranker, valid))


def test_contributions_add_up_to_the_score(sets, mixture):
    test = sets[2].select(np.arange(3))
    found = contributions(mixture, test, samples=20)
    np.testing.assert_allclose(found.base + found.values.sum(axis=1), mixture.predict(test), atol=1e-6)


def test_a_saved_mixture_scores_and_explains_the_same(sets, mixture, tmp_path):
    mixture.save(tmp_path / "auto.zip")
    again = rl.load(tmp_path / "auto.zip")
    np.testing.assert_array_equal(again.predict(sets[2]), mixture.predict(sets[2]))
    assert again.leaderboard_.plain() == mixture.leaderboard_.plain()


def test_the_time_is_kept():
    """Three seconds on data that would take much longer; fits are stopped and the result is whole."""
    data = synthetic(n_queries=1500, docs_per_query=30, n_features=30, seed=0)
    start = time.monotonic()
    ranker = AutoRanker(minutes=0.05, backends=["lightgbm"], threads=1).fit(data)
    assert time.monotonic() - start < 3 + 12  # a slow machine may need some seconds to begin
    assert ranker.parts_


def test_folds_leave_every_query_out_once_and_begin_with_those_held():
    data = synthetic(n_queries=23, docs_per_query=3, n_features=2, seed=0)
    held = np.array([1, 4, 20, 22])
    over = Folds(data, held, count=4, used=4, free=True, seed=0)
    for repeat in range(2):
        parts = over.parts(repeat)
        np.testing.assert_array_equal(np.sort(np.concatenate([out for _, out in parts])), np.arange(23))
        assert all(len(np.intersect1d(*part)) == 0 and len(part[0]) + len(part[1]) == 23 for part in parts)
    np.testing.assert_array_equal(over.parts()[0][1], held)
    assert not np.array_equal(over.parts(1)[0][1], over.parts(2)[0][1])
    some = Folds(data, held, count=4, used=1, free=False, seed=0)
    np.testing.assert_array_equal(some.left_out, held)
    seen, scores = some.unseen([np.arange(data.n_documents, dtype=float)])
    np.testing.assert_array_equal(seen.X, data.select(held).X)
    assert scores[0, 0] == data.offsets[1]


def test_bags_are_repeated_on_other_folds(sets):
    ranker = AutoRanker(fits=2, members=1, folds=2, divisions=3, threads=1).fit(*sets[:2])
    assert [len(part.rankers) for part in ranker.parts_] == [6]
    assert "in 3 divisions into folds" in ranker.leaderboard_.plain()


def test_large_data_is_tried_on_a_sample_and_fitted_whole(monkeypatch):
    """The time for trying is guessed to suffice for a tenth of the rows."""
    monkeypatch.setitem(searching.PER_CELL, "trees", 1.0)
    monkeypatch.setattr(searching, "FEWEST", 20)
    data = synthetic(n_queries=200, docs_per_query=10, n_features=5, seed=0)
    ranker = AutoRanker(minutes=30, fits=2, members=1, folds=2, divisions=1, threads=1).fit(data)
    assert "of the documents to save time" in ranker.leaderboard_.plain()
    assert [len(part.rankers) for part in ranker.parts_] == [2]
    assert ranker.metrics_["out of fold"]["ndcg@10"] > 0.6


def test_models_of_a_sample_stay_where_no_time_is_left(monkeypatch):
    """A fit of a sample took half of the time: one of all documents would be stopped long before its end."""
    monkeypatch.setitem(searching.PER_CELL, "trees", 1.0)
    monkeypatch.setattr(searching, "FEWEST", 20)
    monkeypatch.setattr(searching, "_prepare", lambda *_: None)
    passed = [0.0]

    def slow(candidate, *given, **more):
        fitted = original(candidate, *given, **more)
        passed[0] += 31
        return fitted

    original = searching.fit_one
    monkeypatch.setattr(clock, "now", lambda: passed[0])
    monkeypatch.setattr(searching, "fit_one", slow)
    monkeypatch.setattr("rankloop.rankers.auto.bags.fit_one", slow)
    data = synthetic(n_queries=200, docs_per_query=10, n_features=5, seed=0)
    ranker = AutoRanker(minutes=1, backends=["lightgbm"], threads=1).fit(data)
    assert passed[0] == 31
    assert "of the documents to save time" in ranker.leaderboard_.plain()
    assert "no time for folds" in ranker.leaderboard_.plain()


def test_without_time_for_folds_models_are_used_as_they_are(sets, monkeypatch):
    monkeypatch.setattr("rankloop.rankers.auto.costs.SAFETY", 1e9)
    ranker = AutoRanker(fits=4, threads=1).fit(*sets[:2])
    assert all(len(part.rankers) == 1 for part in ranker.parts_)
    assert "no time for folds" in ranker.leaderboard_.plain()
    assert "out of fold" not in ranker.metrics_
    assert ndcg(ranker, sets[2]) > 0.5


def test_more_is_tried_where_the_best_take_too_long_for_folds(sets):
    """Quick models that are clearly behind do not make the folds of the best any quicker."""
    over = divided(*sets[:2], seed=0)
    setting = searching.Setting("ndcg@10", 1, 0, ("lightgbm",), None, folds=4)
    each = np.random.default_rng(0).random(30)

    def tried(seconds, behind):
        return Tried(Candidate("trees"), None, 0.5 - behind, seconds, np.empty(0), each - behind)

    quick = [tried(0.1, 0.3)] * 6
    share = searching._share(clock.Clock(60), [tried(1.0, 0.0)] * 3 + quick, over, setting)
    assert share == searching.EXPLORE
    share = searching._share(clock.Clock(60), [tried(8.0, 0.0)] * 3 + quick, over, setting)
    assert share == searching.MOSTLY


def test_more_is_tried_where_bags_need_little_time(sets):
    """By hand: a fit of all documents takes 1.3 times their share; 8 folds of two models, 4 of two others."""
    over = divided(*sets[:2], seed=0)
    setting = searching.Setting("ndcg@10", 1, 0, ("lightgbm",), None, folds=4, members=2, divisions=2)
    each = np.random.default_rng(0).random(30)

    def share(seconds, count=5):
        one = Tried(Candidate("trees"), None, 0.5, seconds, np.empty(0), each)
        return searching._share(clock.Clock(1000), [one] * count, over, setting)

    slower = 1.3 * over.everything.n_documents / over.fitted.n_documents
    assert share(10.0) == pytest.approx(1 - slower * (4 * 4 + 2 * 4) * 10 / 1000)
    assert share(0.001) == searching.ENOUGH
    assert share(30.0) == searching.EXPLORE


def test_the_first_model_leaves_time_for_others(sets, monkeypatch):
    """Every round of its trees takes a second, on features that are slow to split."""
    passed = [0.0]
    monkeypatch.setattr(clock, "now", lambda: passed[0])
    monkeypatch.setattr(searching, "_prepare", lambda *_: None)
    original = searching.fit_one

    def slow(candidate, train, held, stop, setting):
        def stopped(state):
            passed[0] += 1
            return stop(state)

        return original(candidate, train, held, stopped, setting)

    monkeypatch.setattr(searching, "fit_one", slow)
    found = searching.search(
        divided(*sets[:2], seed=0), clock.Clock(80), searching.Setting("ndcg@10", 1, 0, ("lightgbm",), None)
    )
    trees = [one.seconds for one in found if one.candidate.kind == "trees"]
    assert max(trees) == 20
    assert len(trees) >= 2


def test_trees_on_many_features_get_fewer_bins():
    rng = np.random.default_rng(0)
    data = RankingDataset.from_groups(rng.normal(size=(200, 40)), rng.integers(0, 2, 200), np.full(20, 10))
    setting = searching.Setting("ndcg@10", 1, 0, ("lightgbm",), None)
    some = Candidate("trees", {"backend": "lightgbm", "loss": "squared", "trees": 1})
    wide = replace(some, view=View(by_query=tuple(range(30))))
    bins = [searching.fit_one(one, data, None, lambda _: False, setting).max_bins for one in (some, wide)]
    assert bins == [255, 63]


def test_without_time_for_folds_those_that_count_are_fitted_on_all_queries(sets, monkeypatch):
    def no_folds(tried, everything, held, *_):
        return Folds(everything, held, count=4, used=1, free=True, seed=0)

    monkeypatch.setattr("rankloop.rankers.auto.mixture.folds_for", no_folds)
    ranker = AutoRanker(fits=4, threads=1).fit(*sets[:2])
    assert "were also fitted on all queries" in ranker.leaderboard_.plain()
    assert all(len(part.rankers) == 2 for part in ranker.parts_)
    for first, second in (part.rankers for part in ranker.parts_):
        if isinstance(first, LambdaMART):
            assert second.n_trees_ == round(first.n_trees_ * (1 + sets[1].n_documents / sets[0].n_documents))
    assert ndcg(ranker, sets[2]) > 0.5


def test_compiling_is_not_taken_for_a_slow_model(sets, monkeypatch):
    """The first model of a kind takes a minute to compile: the models after it are tried none the less."""
    passed, kinds = [0.0], set()

    def compiling(candidate, *given, **more):
        passed[0] += 0.1 if candidate.family[:-1] in kinds else 60
        kinds.add(candidate.family[:-1])
        return original(candidate, *given, **more)

    original = searching.fit_one
    monkeypatch.setattr(clock, "now", lambda: passed[0])
    monkeypatch.setattr(searching, "fit_one", compiling)
    ranker = AutoRanker(minutes=60, fits=4, members=1, folds=2, divisions=1, threads=1).fit(*sets[:2])
    assert [row[3] for row in ranker.leaderboard_.rows] == ["0.1"] * 4


def interrupt(monkeypatch, calls, when):
    """Let somebody press Ctrl-C at fits of which `when` holds by their number; `calls` lists all fits."""
    original = searching.fit_one

    def interrupted(candidate, *given, **more):
        calls.append(candidate)
        if when(len(calls)):
            raise KeyboardInterrupt
        return original(candidate, *given, **more)

    monkeypatch.setattr(searching, "_prepare", lambda *_: None)
    monkeypatch.setattr(searching, "fit_one", interrupted)
    monkeypatch.setattr("rankloop.rankers.auto.bags.fit_one", interrupted)


def test_an_interrupt_gives_the_best_so_far(sets, monkeypatch):
    calls = []

    interrupt(monkeypatch, calls, lambda fits: fits > 3)
    ranker = AutoRanker(minutes=5, threads=1).fit(*sets[:2])
    assert len(ranker.leaderboard_.rows) == 3
    assert "as it was interrupted" in ranker.leaderboard_.plain()
    assert 1 <= len(ranker.parts_) <= 3
    assert ndcg(ranker, sets[2]) > 0.5
    calls[:] = [None] * 3
    with pytest.raises(KeyboardInterrupt):
        AutoRanker(minutes=5, threads=1).fit(*sets[:2])


@pytest.mark.parametrize("at", [4, 8])
def test_after_one_interrupt_nothing_more_is_fitted(sets, monkeypatch, at):
    """While models are tried (the fourth fit), and while the best are fitted again (the eighth)."""
    calls = []

    interrupt(monkeypatch, calls, lambda fits: fits == at)
    ranker = AutoRanker(minutes=5, fits=5, backends=["lightgbm"], threads=1).fit(*sets[:2])
    assert len(calls) == at
    assert ranker.parts_


@pytest.mark.parametrize("at", [1, 2])
def test_an_interrupt_while_weights_are_chosen_leaves_equal_ones(sets, monkeypatch, at):
    """Of all bags (the first time), and of those that are kept (the second)."""
    calls = []

    def interrupted(*given, **more):
        calls.append(given)
        if len(calls) == at:
            raise KeyboardInterrupt
        return stack(*given, **more)

    monkeypatch.setattr("rankloop.rankers.auto.mixture.stack", interrupted)
    options = {"fits": 4, "members": 3, "folds": 2, "divisions": 2, "backends": ["lightgbm"], "threads": 1}
    ranker = AutoRanker(minutes=5, **options).fit(*sets[:2])
    assert all(len(part.rankers) == 2 * at for part in ranker.parts_)
    assert ndcg(ranker, sets[2]) > 0.5
    if at == 2:
        assert len({part.weight for part in ranker.parts_}) == 1
        assert any("interrupted while weights" in reason for reason in ranker.reasons_)


def test_a_machine_that_slows_down_costs_one_fit_more(sets, monkeypatch):
    """After four models every fit takes ten times as long: what cannot be stopped ends early."""
    passed, fits = [0.0], [0]

    def slower(candidate, *given, **more):
        fits[0] += 1
        passed[0] += 2 if fits[0] <= 4 else 20
        return original(candidate, *given, **more)

    original = searching.fit_one
    monkeypatch.setattr(clock, "now", lambda: passed[0])
    monkeypatch.setattr(searching, "_prepare", lambda *_: None)
    monkeypatch.setattr(searching, "fit_one", slower)
    monkeypatch.setattr("rankloop.rankers.auto.bags.fit_one", slower)
    ranker = AutoRanker(minutes=1, fits=4, threads=1, backends=["lightgbm"]).fit(*sets[:2])
    assert ranker.parts_
    trees = sum(part.name.startswith("trees") for part in ranker.parts_)
    assert passed[0] <= 60 + 20 * (3 * trees + 1)  # these trees do not look at the clock


def test_memory_is_bounded(sets, monkeypatch):
    """Places within the list are added for as many features as a limit allows, however many there are."""
    limit = 2 * 2 * (sets[0].n_documents + sets[1].n_documents)
    monkeypatch.setattr(searching, "ADDED", limit)
    ranker = AutoRanker(minutes=5, fits=5, members=2, folds=2, divisions=1, threads=1).fit(*sets[:2])
    assert max(len(part.view.by_query) for part in ranker.parts_) <= 2
    monkeypatch.setattr(searching, "MOST_CELLS", 10 * sets[0].n_features)
    assert searching._sampled(sets[0], seed=0).n_documents < 10 + sets[0].lengths.max()


def test_a_library_that_fails_in_any_way_is_left_out(sets, monkeypatch):
    def broken(*_):
        raise ImportError("libgomp.so.1: cannot open shared object file")

    monkeypatch.setattr("rankloop.rankers.trees.catboost.CatBoostForest.grow", broken)
    ranker = AutoRanker(minutes=5, fits=7, members=2, folds=2, divisions=1, threads=1).fit(*sets[:2])
    assert not any("catboost" in row[0] for row in ranker.leaderboard_.rows)
    assert any("catboost" in reason and "libgomp" in reason for reason in ranker.reasons_)


def test_it_serves_in_a_search(tmp_path):
    """Trained over an index, saved, loaded, and asked: the page is in the order of its scores."""
    rng = np.random.default_rng(0)
    words = ["red", "blue", "shoe", "hat", "coat", "green"]
    index = rl.Index.create(tmp_path / "shop", {"title": "text", "price": "number"})
    titles = [" ".join(rng.choice(words, 3)) for _ in range(80)]
    index.add([{"id": str(at), "title": title, "price": at % 7} for at, title in enumerate(titles)])
    index.commit()
    judged = {word: {str(at): at % 7 // 3 for at, t in enumerate(titles) if word in t} for word in words}
    ranker = AutoRanker(minutes=5, fits=6, members=3, folds=2, divisions=1, threads=1)
    search = index.retriever(k=50) >> rl.Features.standard(index) >> ranker
    search.fit({word: word for word in words}, judged)
    ranker.save(tmp_path / "auto")
    served = index.retriever(k=50) >> rl.Features.standard(index) >> rl.load(tmp_path / "auto")
    for word in words:
        found, again = search(word), served(word)
        assert found.ids.tolist() == again.ids.tolist()
        assert (np.diff(again.scores) <= 0).all()
    assert all(part.rankers[0].forest_ for part in ranker.parts_ if part.name.startswith("trees"))


def test_the_metric_may_be_one_of_which_less_is_better(sets):
    ranker = AutoRanker(fits=3, members=1, folds=2, metric="arp", threads=1).fit(*sets[:2])
    values = [float(row[2]) for row in ranker.leaderboard_.rows]
    assert values == sorted(values)


def test_views_by_hand():
    X = np.array([[1.0, 5.0], [3.0, np.nan], [2.0, 5.0], [7.0, 1.0]], np.float32)
    offsets = np.array([0, 3, 4])
    seen = View(by_query=(0,), missing=(1,)).of(X, offsets)
    spread = np.sqrt(2 / 3)
    np.testing.assert_allclose(seen[:, 2], [-1 / spread, 1 / spread, 0, 0], rtol=1e-6)
    np.testing.assert_allclose(seen[:, 3], [0, 1, 0.5, 1])
    assert seen[:, 4].tolist() == [0, 1, 0, 0]
    assert View().of(X, offsets) is X
    assert View.from_dict(View((0,), (1,)).to_dict()) == View((0,), (1,))


def test_only_features_that_differ_within_lists_are_ranked():
    X = np.array([[1, 4, 2], [1, 5, 2], [2, 4, 3], [2, 5, 3]], np.float32)
    data = RankingDataset(X, [0, 1, 0, 1], [0, 0, 1, 1])
    assert varying_features(data, 10) == (1,)
    X[0, 0] = np.nan
    assert missing_features(RankingDataset(X, [0, 1, 0, 1], [0, 0, 1, 1])) == (0,)


def test_weights_find_the_good_column():
    rng = np.random.default_rng(0)
    data = synthetic(n_queries=200, docs_per_query=10, n_features=3, seed=1)
    noise = rng.normal(size=(data.n_documents, 2))
    scores = np.column_stack([data.y + 0.5 * noise[:, 0], noise[:, 1]])
    scores = np.column_stack([normalised(one, data.offsets, "zscore") for one in scores.T])
    found = stack(scores, data, "ndcg@10")
    assert found.weights[0] > 0.9
    assert "beside equal weights on other queries" in found.reason
    alike = np.column_stack([scores[:, 0], scores[:, 0]])
    np.testing.assert_allclose(stack(alike, data, "ndcg@10").weights, 0.5, atol=0.02)


def test_weights_are_chosen_on_queries_that_they_were_not_learned_on():
    """Forty columns of noise: learned weights fit the noise, and equal ones lose nothing by it."""
    data = synthetic(n_queries=60, docs_per_query=8, n_features=3, seed=1)
    good = data.y[:, None] + np.random.default_rng(0).normal(size=(data.n_documents, 40))
    scores = np.column_stack([normalised(one, data.offsets, "zscore") for one in good.T])
    assert "equal weights" in stack(scores, data, "ndcg@10").reason


def test_only_what_is_installed_is_tried(monkeypatch):
    assert installed_backends(["lightgbm"]) == ("lightgbm",)
    monkeypatch.setattr("rankloop.rankers.auto.candidates.find_spec", lambda name: name == "lightgbm" or None)
    assert installed_backends(None) == ("lightgbm",)
    tried = first_candidates(("lightgbm",), View((0,)), View())
    assert {one.params.get("backend", "lightgbm") for one in tried} == {"lightgbm"}
    assert not any(one.kind == "neural" for one in tried)
    alike = first_candidates(("lightgbm",), View(), View())  # no feature differs within lists
    assert all(one not in alike[:at] for at, one in enumerate(alike))
    assert len(alike) < len(tried)
    weighted = first_candidates(("lightgbm", "catboost"), View((0,)), View(), own_objectives=False)
    assert not any(str(one.params["loss"]).startswith("backend:") for one in weighted)


def test_a_library_that_was_asked_for_must_be_there(sets, monkeypatch):
    monkeypatch.setattr("rankloop._extras.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"needs xgboost; .*rankloop\[trees\]"):
        AutoRanker(backends=["xgboost"]).fit(sets[0])


def few_relevant(queries):
    """Sixty queries, of which so many have relevant documents."""
    data = synthetic(n_queries=60, docs_per_query=8, n_features=4, seed=0)
    useful = np.flatnonzero(np.maximum.reduceat(data.y, data.offsets[:-1]))[:queries]
    return data.replace(y=np.where(np.isin(data.row_query, useful), data.y, 0))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("useful", [2, 3, 20])
def test_queries_with_an_order_are_on_both_sides(useful, seed):
    found = divided(few_relevant(useful), None, seed)
    assert found.fitted.y.any()
    assert found.compared.y.any()
    assert found.fitted.n_queries + found.compared.n_queries == 60
    assert found.compared.n_queries in (11, 12, 13)


def test_one_query_with_an_order_is_all_there_is():
    data = few_relevant(1)
    ranker = AutoRanker(fits=2, members=1, backends=["lightgbm"], threads=1).fit(data)
    assert "the queries that they were trained on, as there are too few" in ranker.leaderboard_.plain()
    assert np.isfinite(ranker.predict(data)).all()


def test_a_validation_set_without_values_is_refused_at_once(sets):
    with pytest.raises(ValueError, match="ndcg@10 has no value on any query to compare models on"):
        AutoRanker(minutes=0.1).fit(sets[0], sets[1].replace(y=np.zeros_like(sets[1].y)))


def test_features_without_two_values_are_refused(sets):
    with pytest.raises(ValueError, match=r"no feature tells the .* documents apart"):
        AutoRanker(minutes=0.1).fit(sets[0].replace(X=np.ones_like(sets[0].X)))
    with pytest.raises(ValueError, match=r"no feature tells the .* documents apart"):
        AutoRanker(minutes=0.1).fit(sets[0].replace(X=np.full_like(sets[0].X, np.nan)))


def test_labels_too_high_for_exponential_gains_are_ranked_by_linear_ones(sets):
    high = [one.replace(y=one.y * 1e5) for one in sets]
    with pytest.raises(ValueError, match=r"2\^label overflows for label .*gain='linear'"):
        AutoRanker(minutes=0.1).fit(*high[:2])
    ranker = AutoRanker(metric="ndcg(gain=linear)@10", fits=3, members=2, folds=2, divisions=1, threads=1)
    ranker.fit(*high[:2])
    assert ranker.leaderboard_.rows[0][2] > "0.6"
    assert any("lambdagap" in row[0] for row in ranker.leaderboard_.rows)
    assert not any("could not be fitted" in reason for reason in ranker.reasons_)


def test_a_cause_is_told_once():
    failures = [("a", "no memory"), ("b", "no memory"), ("a", "no memory"), ("c", "labels too high")]
    assert told(failures) == [
        "2 models, such as a, could not be fitted: no memory",
        "c could not be fitted: labels too high",
    ]
    assert told([("a", f"cause {n}") for n in range(9)])[-1] == "4 more causes are left out"


def test_features_are_sampled_for_each_split():
    """Half of two features is one: a tree that was given one for all its splits would never see the other."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2)).astype(np.float32)
    data = RankingDataset.from_groups(X, np.digitize(X.sum(axis=1), [-1, 0, 1]), np.full(30, 20))
    grid = np.stack(np.meshgrid(*2 * [np.linspace(-2, 2, 7)]), axis=-1).reshape(-1, 2)
    for backend, own in (("lightgbm", "feature_fraction_bynode"), ("xgboost", "colsample_bynode")):
        candidate = Candidate("trees", {"backend": backend, "loss": "squared", "feature_fraction": 0.5})
        ranker = candidate.ranker(threads=1, seed=0, metric="ndcg@10", trees=1, leaves=8).fit(data)
        assert (ranker.feature_fraction, ranker.params) == (1.0, {own: 0.5})
        scores = ranker.predict(RankingDataset(grid, np.zeros(49), np.zeros(49))).reshape(7, 7)
        assert all(np.ptp(scores, axis=axis).any() for axis in (0, 1))


def test_a_group_that_is_clearly_behind_is_given_up():
    rng = np.random.default_rng(0)
    best = rng.random(60)

    def tried(candidate, each):
        return Tried(candidate, None, float(np.nanmean(each)), 1.0, np.zeros(0), each)

    def trees(loss, **params):
        return Candidate("trees", {"backend": "lightgbm", "loss": loss, **params})

    gap = rng.normal(0.2, 0.1, 60)
    found = [
        tried(trees("lambdagap"), best),
        tried(trees("xendcg"), best - rng.normal(0.001, 0.1, 60)),
        tried(trees("squared"), np.where(np.arange(60) == 7, np.nan, best - gap)),
    ]
    assert [one.behind(found[0]) for one in found] == [False, False, True]
    assert searching._hopeless(trees("squared", leaves=63), found)
    assert not searching._hopeless(trees("lambdagap", leaves=63), found)
    assert not searching._hopeless(trees("lambdarank"), found)  # nothing of its group was tried
    by_query = replace(trees("squared"), view=View((0,)))
    assert not searching._hopeless(by_query, found)
    assert chosen(found, 3) == found[:2]
    few = [replace(one, each=one.each[:10]) for one in found]
    assert chosen(few, 3) == few  # ten queries say little


def test_linear_leaves_are_tried_and_varied():
    first = next(one for one in first_candidates(("lightgbm",), View((0,)), View()) if "params" in one.params)
    assert "with linear leaves" in first.name
    assert all("linear leaves" in one.name for one in islice(neighbours([first], [View()], 0), 5))
    plain = replace(first, params={**first.params, "params": None})
    assert first.family != plain.family


def test_neighbours_are_settings_that_can_be_fitted():
    best = first_candidates(("lightgbm",), View((0,)), View())[:1]
    more = neighbours(best, [View(), View((0,))], seed=0)
    for candidate in [next(more) for _ in range(20)]:
        assert 4 <= candidate.params["leaves"] <= 255
        candidate.ranker(threads=1, seed=0, metric="ndcg@10")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"minutes": 0}, "minutes must be a number above 0, got 0"),
        ({"minutes": float("inf")}, "minutes must be a number above 0, got inf"),
        ({"minutes": "1"}, "minutes must be a number above 0, got '1'"),
        ({"folds": 1}, "folds must be a whole number, at least 2"),
        ({"folds": None}, "folds must be a whole number, at least 2"),
        ({"members": 0}, "members must be a whole number, at least 1"),
        ({"fits": 1.5}, "fits must be a whole number, at least 1, got 1.5"),
        ({"backends": "lightgbm"}, r"a list of names, such as \['lightgbm'\]"),
        (
            {"backends": ["sklearn"]},
            "backends are rankloop, lightgbm, xgboost, catboost, neural, got .sklearn",
        ),
    ],
)
def test_mistakes_are_named(sets, settings, message):
    with pytest.raises(ValueError, match=message):
        AutoRanker(**settings).fit(sets[0])
