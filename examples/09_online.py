"""Learning while serving: a step from every page, with a floor under the quality of pages."""

import os
from pathlib import Path
from tempfile import mkdtemp

import rankloop as rl
from rankloop import online
from rankloop.report import report_of_online

quick = "RANKLOOP_QUICK" in os.environ
pages = 1_500 if quick else 5_000
data = rl.synthetic(n_queries=300, docs_per_query=20, n_features=10, seed=0)
train, test = data.split(0.7, seed=0)


class InService:
    """The ranking that people see today: one feature."""

    def predict(self, X):
        return X[:, 0]


def learner(kind):
    """Of `train` only the features are used, to standardise them; its labels are not."""
    return kind(rl.LinearRanker(), features=train, seed=0)


# PDGD learns from every pair that a click prefers, DBGD from duels with a random challenger. Safe shows
# PDGD's page only if the documents of today's page keep four fifths of their exposure.
learners = {
    "pdgd": learner(online.PDGD),
    "dbgd": learner(online.DBGD),
    "safe pdgd": online.Safe(learner(online.PDGD), InService(), floor=0.8),
}
curves = {
    name: online.learning_curve(
        one, train, test, user="navigational", pages=pages, production=train.X[:, 0], seed=0
    )
    for name, one in learners.items()
}
today = rl.evaluate(test.X[:, 0], test, ["ndcg@10"]).mean["ndcg@10"]
print(
    f"ndcg@10 on the test set; today's ranking: {today:.4f}\n\n{'pages':>12}",
    *map("{:>8,}".format, curves["pdgd"].pages),
)
for name, curve in curves.items():
    print(f"{name:>12}", *map("{:8.4f}".format, curve.offline))
for name, curve in curves.items():
    print(f"{name}: {curve.below_floor:.1%} of its pages were below nine tenths of today's ranking")

# A new ranker is deployed only if the interval of its gain in credit is above 0, however often one looks.
print("\nthe gate says:", online.Gate().decide([1, 1, 0, -1] * 40))

path = Path(mkdtemp()) / "online.html"
report_of_online(curves).save(path)
print(f"drawn: {path}")
