"""Does the gate of learning hold its confidence? Simulations in which the true gain is known.

    python benchmarks/learning_gate.py [--runs 20]

A window of pages is shown by a production ranker, half of them part of a swap experiment; candidates are
learned and compared as `rankloop learn CONFIG` does, and the estimated gain is compared with the true one.
"""

import argparse
import warnings

import numpy as np

from rankloop.clicks import simulate, user
from rankloop.clicks.user import attraction_by_grade
from rankloop.data import RankingDataset
from rankloop.metrics import dcg
from rankloop.serve.config import GateSettings
from rankloop.serve.learning.candidates import estimate_gains, train_candidates
from rankloop.serve.learning.gate import at_every_look, decide
from rankloop.serve.learning.window import curves_of
from results import benchmark, record

QUERIES, DOCUMENTS, PAGES = 80, 10, (2000, 8000)
USERS = ("pbm", "eye_tracking")
TASTE = np.array([1.5, 1.0, 0.7, 0.3, 0.0, 0.0])
PRODUCTION = {  # by what production ranks
    "as good as it gets": TASTE,
    "by one good feature": np.array([1.0, 0, 0, 0, 0, 0]),
    "by a useless one": np.array([0, 0, 0, 0, 1.0, 0]),
}


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--runs", type=int, default=10)
    runs = options.parse_args().runs
    warnings.simplefilter("ignore")
    print(f"{runs} windows each; the lower bound (98.75 %) should hold, and the gate never open wrongly\n")
    print(
        f"{'production ranks':<22}{'people':<14}{'pages':>6}{'opens':>7}{'wrongly':>9}{'bound holds':>13}"
        f"{'gain':>9}{'in truth':>10}"
    )
    for name, weights in PRODUCTION.items():
        for people in USERS:
            for pages in PAGES:
                found = np.array([one(weights, people, pages, seed) for seed in range(runs)])
                opens, gain, low, truth = found.T
                wrongly = int(np.sum((opens > 0) & (truth <= 0)))
                record(
                    "gate",
                    production=name,
                    people=people,
                    pages=pages,
                    windows=runs,
                    opens=int(opens.sum()),
                    wrongly=wrongly,
                    bound_holds=int(np.sum(low <= truth)),
                    gain=gain.mean(),
                    truth=truth.mean(),
                )
                print(
                    f"{name:<22}{people:<14}{pages:>6}{int(opens.sum()):>7}{wrongly:>9}"
                    f"{int(np.sum(low <= truth)):>13}{gain.mean():>+9.3f}{truth.mean():>+10.3f}",
                    flush=True,
                )


def one(weights: np.ndarray, people: str, pages: int, seed: int) -> tuple[float, float, float, float]:
    """Whether the gate opened, the estimated gain, its lower bound, and the true gain."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(QUERIES * DOCUMENTS, len(TASTE))).astype(np.float32)
    utility = X @ TASTE + random.normal(scale=0.7, size=len(X))
    grade = np.digitize(utility, [0.5, 1.5, 2.5])
    data = RankingDataset.from_groups(X, grade, [DOCUMENTS] * QUERIES).replace(docid=np.arange(len(X)))
    shown = X @ weights
    person = user(people, max_label=3)
    log = simulate(
        data, logging_policy=shown, user=person, sessions=pages, randomize="adjacent", rate=0.5, seed=seed
    )
    curves, log = curves_of(log, seed=seed)
    made = train_candidates(log, data.replace(y=np.zeros(len(grade))), curves.given, seed=seed)
    scores = {name: candidate.scores for name, candidate in made.candidates.items()}
    gate = at_every_look(GateSettings(), 1, 2)
    found = estimate_gains(
        log, data, made.curve, shown, scores, metric="dcg@10", confidence=gate.confidence, seed=seed
    )
    best = max(
        (name for name in scores if name.startswith("unbiased")), key=lambda name: found[name].gain_low
    )
    worth = attraction_by_grade(max_label=3)[grade].astype(np.float32)
    weight = np.bincount(log.page_query.code, minlength=QUERIES) / log.n_pages

    def value(ranking: np.ndarray) -> float:
        return float(dcg(ranking, worth, data.offsets, k=10, gain="linear") @ weight)

    opened = decide(gate, log.n_pages, found[best], curves.alarms).opens
    return float(opened), found[best].gain, found[best].gain_low, value(scores[best]) - value(shown)


if __name__ == "__main__":
    benchmark(main)
