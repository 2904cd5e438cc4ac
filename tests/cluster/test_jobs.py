"""Jobs on shards give what one process gives on the whole, also when a worker is killed under them."""

import json
import os
import signal
import threading
from importlib import import_module

import numpy as np
import polars
import pytest

from rankloop import clicks, cluster, metrics, propensity
from rankloop.clicks import simulate
from rankloop.cluster.backends import local as _local
from rankloop.cluster.backends import lost_worker_error
from rankloop.cluster.backends import ray as _ray
from rankloop.cluster.backends import versions as _versions
from rankloop.cluster.backends.backend import over
from rankloop.cluster.backends.in_order import InOrder
from rankloop.data import synthetic
from rankloop.data.shards.shards import open_shards
from rankloop.data.shards.write_shards import write_shards
from rankloop.rankers import LambdaMART, LinearRanker, RankSVM

tuning = import_module("rankloop.cluster.tune")

DATA = synthetic(n_queries=60, docs_per_query=8, n_features=5, seed=0)
METRICS = ["ndcg@10", "err@5", "map"]
JOBS = [name for name in cluster.__all__ if name not in ("LostWorkerError", "fit")]  # fit: test_training


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(scope="module")
def shards(folder):
    return write_shards(DATA, folder / "set", shards=4)


@pytest.fixture(scope="module")
def rankers(shards):
    whole = shards.whole()
    return {
        "linear": LinearRanker(loss="squared").fit(whole),
        "trees": LambdaMART(trees=8, leaves=5, threads=1).fit(whole),
    }


@pytest.fixture(scope="module")
def logs(folder):
    """A log of each experiment, whole and as shards."""
    ways = {name: {"randomize": name} for name in ("swap", "shuffle", "fairpairs")}
    ways |= {"plain": {"temperature": 1.0}, "fixed": {}}
    made = {}
    for name, how in ways.items():
        log = simulate(DATA, logging_policy=DATA.X[:, 0], sessions=6000, k=3, seed=0, **how)
        made[name] = (log, write_shards([log.to_frame()], folder / name, shards=4))
    return made


@pytest.fixture
def one_is_killed(monkeypatch):
    """The first worker of the job is stopped before its first task reaches it, and then killed."""
    killed = []
    ready = _local._Process.ready

    def dying(process):
        ready(process)
        if not killed:
            killed.append(process.process.pid)
            os.kill(process.process.pid, signal.SIGSTOP)
            threading.Timer(0.05, os.kill, (process.process.pid, signal.SIGKILL)).start()

    monkeypatch.setattr(_local._Process, "ready", dying)
    yield killed
    assert len(killed) == 1


def assert_same_evaluation(one, other):
    assert one.mean == other.mean
    assert one.interval == other.interval
    assert one.qid.tolist() == other.qid.tolist()
    assert one.left_out == other.left_out


def test_evaluation_is_pooled_to_the_last_digit(shards, rankers):
    found = cluster.evaluate(rankers["trees"], shards, METRICS, workers=2)
    assert_same_evaluation(found, metrics.evaluate(rankers["trees"], shards.whole(), METRICS))
    parts = [metrics.evaluate(rankers["trees"], part, METRICS).mean["ndcg@10"] for part in shards]
    assert found.mean["ndcg@10"] != np.mean(parts)  # a mean of means is something else


@pytest.mark.parametrize("options", [{"convention": "lightgbm"}, {"ties": "worst", "empty": "zero"}])
def test_evaluation_passes_its_options_on(shards, rankers, options):
    wanted = ["ndcg@5", "map"] if "convention" in options else None
    found = cluster.evaluate(rankers["linear"], shards, wanted, workers=2, **options)
    here = metrics.evaluate(rankers["linear"], shards.whole(), wanted, **options)
    assert_same_evaluation(found, here)
    assert found.settings == here.settings


def test_evaluation_honours_weights(folder, rankers):
    weighed = DATA.replace(query_weight=np.linspace(0, 3, len(DATA)))
    found = write_shards(weighed, folder / "weighed", shards=3)
    assert_same_evaluation(
        cluster.evaluate(rankers["linear"], found, ["ndcg@10"], workers=2),
        metrics.evaluate(rankers["linear"], found.whole(), ["ndcg@10"]),
    )


def test_comparison_is_that_of_the_whole(shards, rankers):
    found = cluster.compare(rankers, shards, workers=2)
    assert found.verdicts == metrics.compare(rankers, shards.whole()).verdicts


def test_scores_are_written_row_by_row(folder, shards, rankers, tmp_path):
    rankers["trees"].save(tmp_path / "trees.rank")
    found = cluster.predict(tmp_path / "trees.rank", shards, tmp_path / "scores", workers=2)
    assert (found.kind, found.n_rows, len(found)) == ("scores", DATA.n_documents, len(shards))
    scores = polars.concat([found.frame(i) for i in range(len(found))])
    assert scores["score"].to_list() == rankers["trees"].predict(shards.whole()).tolist()
    assert scores["qid"].to_list() == shards.whole().row_qid.tolist()


@pytest.mark.parametrize(
    ("name", "method"),
    [("swap", "swap_intervention"), ("shuffle", "randomized"), ("fairpairs", "fair_pairs")],
)
def test_curves_of_experiments_are_exact(logs, name, method):
    log, shards = logs[name]
    found, here = cluster.propensity(shards, workers=2), propensity.estimate(log)
    assert found.method == here.method == method
    assert found.pages == here.pages
    assert found.values.tolist() == here.values.tolist()  # sums of whole numbers
    np.testing.assert_allclose(found.low, here.low, atol=0.03)
    np.testing.assert_allclose(found.high, here.high, atol=0.03)


def test_a_harvested_curve_is_that_of_the_whole(logs):
    log, shards = logs["plain"]
    for depth in (None, 2):
        found = cluster.propensity(shards, method="harvest", depth=depth, workers=2)
        np.testing.assert_allclose(found.values, propensity.harvest(log, depth=depth).values, rtol=1e-12)


def test_a_joint_curve_is_fitted_on_the_counts(logs):
    log, shards = logs["plain"]
    with pytest.raises(ValueError, match="pass the data set"):
        cluster.propensity(shards, method="regression_em")
    with pytest.warns(propensity.IdentifiabilityWarning):
        found = cluster.propensity(shards, DATA, method="regression_em", resamples=20, workers=2)
    with pytest.warns(propensity.IdentifiabilityWarning):
        here = propensity.regression_em(clicks.aggregate(log), DATA, resamples=20)
    np.testing.assert_allclose(found.values, here.values, rtol=1e-9)


def test_features_explain_what_was_always_shown_at_one_rank(logs):
    """As `estimate` does: no experiment, and no document at two ranks."""
    log, shards = logs["fixed"]
    with pytest.warns(propensity.IdentifiabilityWarning):
        found = cluster.propensity(shards, DATA, resamples=20, workers=2)
    with pytest.warns(propensity.IdentifiabilityWarning):
        here = propensity.estimate(log, DATA, resamples=20)
    assert found.method == here.method == "regression_em"
    np.testing.assert_allclose(found.values, here.values, rtol=1e-9)
    assert cluster.propensity(logs["plain"][1], DATA, resamples=20, workers=2).method == "harvest allpairs"


def test_a_log_of_two_layouts_needs_one(folder):
    frames = [
        simulate(DATA, logging_policy=DATA.X[:, 0], sessions=2000, k=3, temperature=1.0, seed=seed).to_frame()
        for seed in (0, 1)
    ]
    marked = [one.with_columns(layout=polars.lit(name)) for name, one in zip("ab", frames, strict=True)]
    moved = [marked[0], marked[1].with_columns(session=polars.col("session") + 10_000)]
    shards = write_shards(moved, folder / "layouts", shards=3)
    with pytest.raises(ValueError, match=r"mixes layouts \(a, b\)"):
        cluster.propensity(shards, method="harvest", workers=2)
    found = cluster.propensity(shards, method="harvest", layout="b", workers=2)
    whole = clicks.ClickLog.from_frame(polars.concat(moved))
    here = propensity.harvest(whole, layout="b")
    np.testing.assert_allclose(found.values, here.values, rtol=1e-12)
    assert found.layout == "b"
    with pytest.raises(ValueError, match=r"mixes layouts \(a, b\)"):
        cluster.propensity(shards, DATA, method="regression_em", workers=2)
    with pytest.warns(propensity.IdentifiabilityWarning):
        found = cluster.propensity(shards, DATA, method="regression_em", layout="b", resamples=20, workers=2)
    with pytest.warns(propensity.IdentifiabilityWarning):
        here = propensity.regression_em(whole, DATA, layout="b", resamples=20)
    np.testing.assert_allclose(found.values, here.values, rtol=1e-9)
    assert found.layout == "b"


def test_learning_from_counts_is_learning_from_the_log(logs):
    from rankloop.unbiased import candidates, learn

    log, shards = logs["swap"]
    chosen = {"plain leaves": candidates(trees=5, threads=1)["plain leaves"]}
    found = cluster.learn(shards, DATA, rankers=chosen, workers=2)
    here = learn(log, DATA, rankers=chosen)
    assert found.curve_by == here.curve_by == "swap_intervention"
    assert found.ranker.predict(DATA).tolist() == here.ranker.predict(DATA).tolist()
    with pytest.raises(ValueError, match="unknown budget 'endless'"):
        cluster.learn(shards, DATA, rankers=chosen, budget="endless", workers=2)
    with pytest.raises(ValueError, match="shards of a data set with docids"):
        cluster.learn(shards, write_shards(DATA, shards.path + "-documents", shards=2))


def squared(part):
    """A further feature, which needs the whole query."""
    best = np.maximum.reduceat(part.X[:, 0], part.offsets[:-1])[part.row_query]
    return part.replace(X=np.column_stack((part.X, part.X[:, 0] - best)), feature_names=None)


@pytest.fixture(scope="module")
def by_value():
    """Functions of this file travel whole: workers cannot import it."""
    cloudpickle = pytest.importorskip("cloudpickle")
    import sys

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


@pytest.mark.usefixtures("by_value")
def test_transformed_shards(shards, tmp_path):
    found = cluster.transform(shards, squared, tmp_path / "more", workers=2)
    whole = squared(shards.whole())
    assert np.array_equal(found.whole().X, whole.X)
    assert np.array_equal(found.whole().qid, whole.qid)
    with pytest.raises(ValueError, match="which is not among those it was given"):
        cluster.transform(shards, lambda part: renamed(part), tmp_path / "wrong", workers=2)
    with pytest.raises(ValueError, match="must give a RankingDataset, got int"):
        cluster.transform(shards, lambda part: 3, tmp_path / "odd", workers=2)


def renamed(part):
    return type(part)(part.X, part.y, part.row_qid + 1000)


def test_search_features_over_shards_of_queries(tmp_path):
    from rankloop.search import Features, Index
    from rankloop.search.judged_lists import judged_lists

    index = Index.create(str(tmp_path / "shop"), fields={"title": "text"})
    words = ["red shoes", "red hat", "blue shoes", "green hat", "blue coat", "old coat"]
    index.add([{"id": str(i), "title": title} for i, title in enumerate(words)])
    index.commit()
    queries = {f"q{i}": word for i, word in enumerate(["red", "blue", "hat", "coat", "shoes"])}
    grades = {qid: {"0": 1, "1": 0, "3": 2, "5": 1} for qid in queries} | {"q9": {"0": 1}}
    found = cluster.features(
        tmp_path / "shop", {**queries, "q7": "nothing"}, grades, tmp_path / "set", shards=3, workers=2
    )
    opened = Index.open(str(tmp_path / "shop"))
    here = judged_lists(opened.retriever(), Features.standard(opened), queries, grades, "judged")
    order = [here.qid.tolist().index(qid) for qid in found.whole().qid.tolist()]
    assert found.whole().fingerprint() == here.select(order).fingerprint()
    with pytest.raises(ValueError, match="none of the 1 queries has judgments"):
        cluster.features(tmp_path / "shop", {"q7": "nothing"}, grades, tmp_path / "none")


SPACE = {"C": (0.01, 10.0, "log")}


def test_a_study_goes_on_where_it_ended(shards, tmp_path, monkeypatch):
    """And it is the same without workers: it depends on the seed alone."""
    how = {"folds": 2, "at_once": 2, "workers": 2}
    cluster.tune(RankSVM(), SPACE, shards, trials=3, checkpoint=tmp_path / "study", **how)
    resumed = cluster.tune(RankSVM(), SPACE, shards, trials=5, checkpoint=tmp_path / "study", **how)
    with pytest.raises(ValueError, match="is of another study"):
        cluster.tune(RankSVM(), SPACE, shards, trials=3, seed=1, checkpoint=tmp_path / "study", **how)
    with pytest.raises(ValueError, match="folds are made of whole shards: 2 to 4 here, got 9"):
        cluster.tune(RankSVM(), SPACE, shards, folds=9)
    monkeypatch.setattr(tuning, "over", lambda task, inputs, **options: [task(one) for one in inputs])
    assert resumed.to_dict() == cluster.tune(RankSVM(), SPACE, shards, trials=5, **how).to_dict()


def test_kept_results_of_other_settings_are_not_taken(shards, tmp_path, monkeypatch):
    """Another version of rankloop may choose other settings after the same start."""
    monkeypatch.setattr(tuning, "over", lambda task, inputs, **options: [task(one) for one in inputs])
    how = {"folds": 2, "at_once": 2, "trials": 4}
    fresh = cluster.tune(RankSVM(), SPACE, shards, checkpoint=tmp_path / "study", **how)
    store = tuning.Store(tmp_path / "study")
    state = json.loads(store.read("study.json"))
    state["trials"][2] = {"params": "{'C': 0.5}", "values": [9.0, 9.0]}
    store.write("study.json", json.dumps(state).encode())
    again = cluster.tune(RankSVM(), SPACE, shards, checkpoint=tmp_path / "study", **how)
    assert again.to_dict() == fresh.to_dict()


@pytest.fixture
def undisturbed(jobs, name):
    return jobs.expected(name)


@pytest.mark.parametrize("name", JOBS)
def test_every_job_survives_a_kill(jobs, name, undisturbed, one_is_killed):
    """A new job is tested here the moment it is exported."""
    assert jobs.run(name) == undisturbed


@pytest.mark.usefixtures("one_is_killed")
def test_a_kill_while_a_large_task_is_on_its_way():
    """More than a pipe holds, as a forest of many trees is: the worker dies before it has read all of it."""
    assert over(len, [bytes(n * 1_000_000) for n in (3, 4, 5)], backend="local", workers=2, title="") == [
        3_000_000,
        4_000_000,
        5_000_000,
    ]


def test_a_task_that_always_kills_its_worker_ends_the_job(tmp_path, shards, rankers, monkeypatch):
    """The job stops with a sentence; what was scored stays, and the same call resumes."""
    ready = _local._Process.ready

    def dying(process):
        ready(process)
        os.kill(process.process.pid, signal.SIGSTOP)
        threading.Timer(0.02, process.process.kill).start()  # which lets one be that has ended

    monkeypatch.setattr(_local, "RETRIES", 0)
    monkeypatch.setattr(_local._Process, "ready", dying)
    with pytest.raises(cluster.LostWorkerError, match=r"died 1 times .* the same call resumes"):
        cluster.predict(rankers["linear"], shards, tmp_path / "scores", workers=2)
    assert not (tmp_path / "scores" / "writer.json").exists()
    with pytest.raises(ValueError, match="run the same job again to continue"):
        open_shards(tmp_path / "scores")
    monkeypatch.setattr(_local._Process, "ready", ready)
    assert cluster.predict(rankers["linear"], shards, tmp_path / "scores", workers=2).n_rows == shards.n_rows


def ending_after_two(numbers, note, error):
    """In place of `over`: the numbers of the shards that were begun; after two the job ends with an error."""

    def some(task, inputs, *, done, **options):
        for i, one in enumerate(inputs):
            if len(numbers) == 2:
                numbers.append(note)
                raise error
            numbers.append(one[0].entries[0].number)
            done(i, task(one))

    return some


def test_an_interrupted_scoring_scores_only_the_rest(shards, rankers, tmp_path, monkeypatch):
    resuming = import_module("rankloop.cluster.backends.resume")

    numbers = []
    some = ending_after_two(numbers, "the disk is full", OSError(28, "no room for the scores"))
    monkeypatch.setattr(resuming, "over", some)
    with pytest.raises(OSError, match="no room"):
        cluster.predict(rankers["linear"], shards, tmp_path / "scores")
    cluster.predict(rankers["linear"], shards, tmp_path / "scores")
    assert numbers == [0, 1, "the disk is full", 2, 3]
    with pytest.raises(ValueError, match="holds shards already"):
        cluster.predict(rankers["linear"], shards, tmp_path / "scores")


def test_learning_goes_on_from_what_was_counted(logs, tmp_path, monkeypatch):
    resuming = import_module("rankloop.cluster.backends.resume")
    from rankloop.unbiased import candidates

    numbers = []
    some = ending_after_two(numbers, "workers died", cluster.LostWorkerError(2, 4, 4))
    chosen = {"plain leaves": candidates(trees=5, threads=1)["plain leaves"]}
    whole = cluster.learn(logs["swap"][1], DATA, rankers=chosen, workers=2)
    monkeypatch.setattr(resuming, "over", some)
    with pytest.raises(cluster.LostWorkerError, match="the same call resumes"):
        cluster.learn(logs["swap"][1], DATA, rankers=chosen, checkpoint=tmp_path / "counts")
    for _ in range(2):  # the second time all is there
        found = cluster.learn(
            logs["swap"][1], DATA, rankers=chosen, checkpoint=tmp_path / "counts", workers=2
        )
        assert found.ranker.predict(DATA).tolist() == whole.ranker.predict(DATA).tolist()
        assert numbers == [0, 1, "workers died", 2, 3]
    with pytest.raises(ValueError, match="started by another job, or with other data"):
        cluster.aggregate(logs["plain"][1], checkpoint=tmp_path / "counts")


@pytest.mark.parametrize("kind", [polars.Int64, polars.Float64, polars.String])
def test_counts_in_a_checkpoint_are_those_of_the_log(kind, tmp_path):
    """Ids are kept as they are in the log, by whose text a query has its shard."""
    frame = polars.DataFrame({"session": range(20), "query": range(20), "document": [1, 2] * 10})
    frame = frame.with_columns(
        polars.col("query").mod(7).cast(kind), position=1, click=polars.col("query") % 2
    )
    shards = write_shards([frame], tmp_path / "log", shards=3)
    here = clicks.aggregate(clicks.ClickLog.from_frame(frame)).to_frame()
    for _ in range(2):
        found = cluster.aggregate(shards, workers=2, checkpoint=tmp_path / "counts").to_frame()
        assert found.equals(here)
    assert found.equals(cluster.aggregate(shards, workers=2).to_frame())


@pytest.fixture(scope="module")
def corrupt(jobs, tmp_path_factory):
    """The same jobs on shards one byte of which has changed since they were written."""
    made = type(jobs)(tmp_path_factory.mktemp("corrupt"))
    assert made.ranker.n_features_in_ == 5  # fitted before
    for shards in (made.shards, made.log):
        shard = made.folder.joinpath(shards.path.removeprefix("file://"), shards.entries[1].name)
        content = bytearray(shard.read_bytes())
        content[100] ^= 1
        shard.write_bytes(content)
    return made


@pytest.mark.parametrize("name", [name for name in JOBS if name != "features"])
def test_a_corrupt_shard_stops_every_job_by_its_name(name, corrupt):
    with pytest.raises(ValueError, match=r"shard-00001-\w+.parquet does not match its checksum"):
        corrupt.run(name)


def test_workers_of_other_versions_are_refused(shards, rankers, monkeypatch):
    _local._end_idle()
    other = {**_versions.here(), "numpy": "0.9"}
    monkeypatch.setattr(_versions, "here", lambda: other)
    with pytest.raises(ValueError, match=r"a worker process has numpy .* where this process has 0\.9"):
        cluster.evaluate(rankers["linear"], shards, workers=1)


def test_results_come_in_the_order_of_the_inputs():
    assert over(abs, [-3, 2, -1, 0], backend="local", workers=2, title="") == [3, 2, 1, 0]
    with pytest.raises(TypeError, match="bad operand") as raised:
        over(abs, [1, "two"], backend="local", workers=2, title="")
    assert "in a worker process" in raised.value.__notes__[0]


def test_wrong_arguments_are_errors(shards, logs, rankers):
    with pytest.raises(ValueError, match="unknown backend 'spark'"):
        cluster.evaluate(rankers["linear"], shards, backend="spark")
    with pytest.raises(ValueError, match="workers is 1 or more, got 0"):
        cluster.evaluate(rankers["linear"], shards, workers=0)
    with pytest.raises(ValueError, match="this job needs shards of clicks"):
        cluster.aggregate(shards)
    with pytest.raises(ValueError, match="jobs work on shards"):
        cluster.evaluate(rankers["linear"], DATA)
    with pytest.raises(ValueError, match="a job takes a ranker"):
        cluster.evaluate(DATA.y, shards)
    with pytest.raises(ValueError, match="compare needs at least two systems"):
        cluster.compare({"one": rankers["linear"]}, shards)


def test_what_may_come_from_a_lost_worker_is_tried_again():
    assert lost_worker_error.is_transient(RuntimeError("connection closed by peer"))
    assert not lost_worker_error.is_transient(ValueError("no such loss"))
    assert _ray.RETRIES == _local.RETRIES


def test_progress_adds_up(shards, rankers, monkeypatch):
    from contextlib import contextmanager

    from rankloop.cluster.backends import backend as _backend

    reports = []

    @contextmanager
    def seen(title, total):
        reports.append((title, total))
        yield lambda by=1, note="": reports.append((by, note))

    monkeypatch.setattr(_backend, "progress", seen)
    cluster.evaluate(rankers["linear"], shards, workers=2)
    assert reports[0] == ("evaluating", DATA.n_documents)
    assert sum(by for by, _ in reports[1:]) == DATA.n_documents
    assert [note for _, note in reports[1:]] == [f"{i} of 4" for i in range(1, 5)]


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]])
def test_results_are_passed_on_in_the_order_of_the_shards(order):
    """Only results that come early are held."""
    taken, seen = [], set()
    done = InOrder(taken.append)
    for index in order:
        done(index, f"part {index}")
        seen.add(index)
        missing = min({*range(5)} - seen)
        assert set(done._early) == {one for one in seen if one > missing}
    assert taken == ["part 0", "part 1", "part 2", "part 3"]
