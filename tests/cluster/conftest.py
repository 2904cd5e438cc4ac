"""Every job of the package on small shards: some tests hold all of them to the same."""

from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from rankloop import cluster
from rankloop.clicks import simulate
from rankloop.data import RankingDataset, synthetic
from rankloop.data.shards.write_shards import write_shards
from rankloop.rankers import LambdaMART, LinearRanker, RankSVM

WORDS = ["red shoes", "red hat", "blue shoes", "green hat", "blue coat", "old coat"]
QUERIES = {f"q{i}": word for i, word in enumerate(["red", "blue", "hat", "coat", "shoes"])}
GRADES = {qid: {"0": 1, "1": 0, "3": 2, "5": 1} for qid in QUERIES}
SPACE = {"C": (0.01, 10.0, "log")}


def centred(part):
    """A further feature, which needs the whole query."""
    best = np.maximum.reduceat(part.X[:, 0], part.offsets[:-1])[part.row_query]
    return part.replace(X=np.column_stack((part.X, part.X[:, 0] - best)), feature_names=None)


@dataclass
class Jobs:
    """What each job gives, as plain values; `how` says where it runs."""

    folder: object
    undisturbed: dict = field(default_factory=dict)
    number: int = 0

    def run(self, name, **how):
        self.number += 1
        return getattr(self, name)(self.folder / f"out-{self.number}", {"workers": 2, **how})

    def expected(self, name):
        """What it gives when nobody is killed."""
        if name not in self.undisturbed:
            self.undisturbed[name] = self.run(name)
        return self.undisturbed[name]

    @cached_property
    def data(self) -> RankingDataset:
        return synthetic(n_queries=60, docs_per_query=8, n_features=5, seed=0)

    @cached_property
    def shards(self):
        return write_shards(self.data, self.folder / "set", shards=4)

    @cached_property
    def log(self):
        frame = simulate(
            self.data, logging_policy=self.data.X[:, 0], sessions=6000, k=3, randomize="swap", seed=0
        ).to_frame()
        pytest.importorskip("fsspec")
        return write_shards([frame], f"file://{self.folder}/log", shards=4)

    @cached_property
    def ranker(self):
        return LinearRanker(loss="squared").fit(self.shards.whole())

    @cached_property
    def index(self):
        from rankloop.search import Index

        index = Index.create(str(self.folder / "shop"), fields={"title": "text"})
        index.add([{"id": str(i), "title": title} for i, title in enumerate(WORDS)])
        index.commit()
        return self.folder / "shop"

    def aggregate(self, out, how):
        return cluster.aggregate(self.log, **how).to_frame().to_dict(as_series=False)

    def propensity(self, out, how):
        found = cluster.propensity(self.log, resamples=50, **how)
        return [found.values.tolist(), found.low.tolist(), found.high.tolist()]

    def learn(self, out, how):
        few = {"few": LambdaMART(trees=3, leaves=4, threads=1, patience=None)}
        found = cluster.learn(self.log, self.data, rankers=few, **how)
        return [found.to_dict(), found.ranker.predict(self.data).tolist()]

    def features(self, out, how):
        return cluster.features(self.index, QUERIES, GRADES, out, shards=3, **how).fingerprint

    def transform(self, out, how):
        cloudpickle = pytest.importorskip("cloudpickle")
        import sys

        module = sys.modules[centred.__module__]
        cloudpickle.register_pickle_by_value(module)  # workers cannot import this file
        try:
            return cluster.transform(self.shards, centred, out, **how).fingerprint
        finally:
            cloudpickle.unregister_pickle_by_value(module)

    def evaluate(self, out, how):
        found = cluster.evaluate(self.ranker, self.shards, ["ndcg@10", "err@5"], **how)
        return [found.mean, found.interval]

    def compare(self, out, how):
        other = LinearRanker(loss="squared", l2=1000.0).fit(self.shards.whole())
        return cluster.compare({"one": self.ranker, "other": other}, self.shards, **how).verdicts

    def predict(self, out, how):
        pytest.importorskip("fsspec")
        return cluster.predict(self.ranker, self.shards, f"file://{out}", **how).fingerprint

    def tune(self, out, how):
        return cluster.tune(RankSVM(), SPACE, self.shards, folds=2, trials=2, **how).to_dict()


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    return Jobs(tmp_path_factory.mktemp("jobs"))


@pytest.fixture(scope="session")
def output_of():
    """Runs a command of the package in this process and gives what it printed."""
    from rankloop.cli.evaluate import evaluate
    from rankloop.cli.learn import learn
    from rankloop.cli.predict import predict
    from rankloop.cli.shard import shard
    from rankloop.cli.train import train
    from rankloop.cli.tune import tune

    app = typer.Typer(pretty_exceptions_enable=False)
    for command in (shard, train, evaluate, predict, tune, learn):
        app.command()(command)
    return partial(_output_of, app)


def _output_of(app, *arguments):
    done = CliRunner().invoke(app, [str(one) for one in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output
