"""All online learners: the sign of every step, exact resumption, changing candidates, bad input."""

import numpy as np
import pytest

import rankloop.online as online
from rankloop.interleaving import TeamDraft
from rankloop.online import COLTR, DBGD, MGD, NSGD, PDGD, EpsilonGreedy, Learner, Thompson
from rankloop.rankers.linear import LinearRanker

LEARNERS = [
    getattr(online, name)
    for name in online.__all__
    if isinstance(getattr(online, name), type) and issubclass(getattr(online, name), Learner)
]
LEARNERS = [learner for learner in LEARNERS if learner is not Learner]
TRUTH = np.array([1.0, -0.5, 0.25, 0.0, 0.5])


def noise_free_clicks(X, shown, top=3):
    """Clicks on whatever of the shown is truly among the best of the candidates."""
    best = np.argsort(-(X @ TRUTH))[:top]
    return np.isin(shown, best)


def cosine(learner):
    weights = learner.model.parameters
    return weights @ TRUTH / max(np.linalg.norm(weights) * np.linalg.norm(TRUTH), 1e-12)


def trained(kind, pages, seed=0, **options):
    random = np.random.default_rng(100 + seed)
    learner = kind(LinearRanker(), seed=seed, **options)
    for _ in range(pages):
        X = random.normal(size=(20, 5)).astype(np.float32)
        page = learner.rank(X, k=10)
        learner.learn(page, noise_free_clicks(X, page.shown))
    return learner


@pytest.mark.parametrize("kind", LEARNERS, ids=lambda k: k.name)
def test_the_cosine_with_the_truth_rises(kind):
    """A flipped sign shows within 100 steps: mean cosine of 5 runs after 30, 100 and 400 pages."""
    at = [np.mean([cosine(trained(kind, pages, seed)) for seed in range(5)]) for pages in (30, 100, 400)]
    assert at[0] > 0.1
    assert at[2] > 0.55
    assert at[2] > at[0]


@pytest.mark.parametrize("kind", [DBGD, MGD, NSGD], ids=lambda k: k.name)
def test_a_dueling_step_goes_towards_the_winner(kind):
    """Whenever the weights move, they move by the learning rate along directions that won."""
    learner = kind(LinearRanker(), seed=1)
    random = np.random.default_rng(0)
    moved = 0
    for _ in range(200):
        X = random.normal(size=(15, 5)).astype(np.float32)
        page = learner.rank(X, k=6)
        clicks = noise_free_clicks(X, page.shown)
        before = learner.model.parameters.copy()
        learner.learn(page, clicks)
        step = learner.model.parameters - before
        credit = TeamDraft().credit(page.notes["page"], page.shown[clicks].tolist())
        won = page.notes["directions"][credit[1:] > credit[0]]
        if len(won) == 0:
            assert not step.any()
            continue
        moved += 1
        if kind is NSGD:
            assert any(np.allclose(step, learner.learning_rate * direction) for direction in won)
        else:
            assert step == pytest.approx(learner.learning_rate * won.mean(axis=0))
    assert moved > 20


@pytest.mark.parametrize("kind", LEARNERS, ids=lambda k: k.name)
def test_resumed_learning_is_the_same_learning(kind, tmp_path):
    whole = trained(kind, 60, seed=3)
    half = trained(kind, 0, seed=3)
    random = np.random.default_rng(103)
    for page_number in range(60):
        if page_number == 30:
            half.save(tmp_path / "learner.zip")
            half = kind(LinearRanker(), seed=999)
            half.load(tmp_path / "learner.zip")
        X = random.normal(size=(20, 5)).astype(np.float32)
        page = half.rank(X, k=10)
        half.learn(page, noise_free_clicks(X, page.shown))
    assert half.pages == 60
    assert np.array_equal(half.model.parameters, whole.model.parameters)


@pytest.mark.parametrize("kind", LEARNERS, ids=lambda k: k.name)
def test_candidates_may_come_and_go(kind):
    learner = kind(LinearRanker(), seed=0)
    for candidates in (1, 2, 50, 3, 1):
        page = learner.rank(np.ones((candidates, 4)), k=10)
        assert sorted(page.shown.tolist()) == sorted(set(page.shown.tolist()))
        assert len(page) == min(candidates, 10)
        learner.learn(page, np.arange(len(page)) == 0)
    assert np.isfinite(learner.model.parameters).all()


@pytest.mark.parametrize("kind", LEARNERS, ids=lambda k: k.name)
def test_learned_weights_become_a_ranker(kind, tmp_path):
    learner = trained(kind, 50)
    X = np.random.default_rng(0).normal(size=(7, 5)).astype(np.float32)
    ranker = learner.ranker
    assert ranker.predict(X) == pytest.approx(learner.predict(X), rel=1e-6, abs=1e-6)
    again = kind(ranker, seed=0)
    assert again.predict(X) == pytest.approx(learner.predict(X), rel=1e-6, abs=1e-6)


def test_no_click_teaches_nothing():
    for kind in LEARNERS:
        learner = trained(kind, 20)
        before = learner.model.parameters.copy()
        page = learner.rank(np.random.default_rng(1).normal(size=(9, 5)), k=5)
        learner.learn(page, np.zeros(5))
        assert np.array_equal(before, learner.model.parameters)


def test_null_space_directions_avoid_what_lost():
    learner = NSGD(LinearRanker(), memory=2, seed=0)
    learner.rank(np.eye(5), k=3)
    learner._lost.extend([np.eye(5)[0], np.eye(5)[1]])
    page = learner.rank(np.eye(5), k=3)
    assert np.abs(page.notes["directions"][:, :2]).max() < 1e-9


def test_bandits_resume_exactly(tmp_path):
    for kind in (Thompson, EpsilonGreedy):
        rankers = {"a": LinearRankerOf([1.0]), "b": LinearRankerOf([-1.0])}
        first, second = kind(rankers, seed=5), kind(rankers, seed=77)
        for _ in range(40):
            page = first.rank(np.array([[0.0], [1.0]]), 2)
            first.learn(page, [page.shown[0] == 1, False])
        first.save(tmp_path / "bandit.json")
        second.load(tmp_path / "bandit.json")
        choices = [
            [b.rank(np.array([[0.0], [1.0]]), 2).notes["arm"] for _ in range(20)] for b in (first, second)
        ]
        assert choices[0] == choices[1]


class LinearRankerOf:
    def __init__(self, weights):
        self.weights = np.array(weights)

    def predict(self, X):
        return X @ self.weights


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: PDGD(LinearRanker(), learning_rate=0), "learning_rate must be above 0"),
        (lambda: PDGD(LinearRanker()).rank(np.zeros((0, 3))), "candidates × features"),
        (lambda: PDGD(LinearRanker()).rank(np.zeros((3, 3)), k=0), "k must be at least 1"),
        (lambda: PDGD(LinearRanker()).rank(np.full((3, 3), np.inf)), "finite"),
        (lambda: learn_with(PDGD(LinearRanker()), [1]), "one 0 or 1 for each of the 3 shown places"),
        (lambda: learn_with(PDGD(LinearRanker()), [1, 2, 0]), "clicks are 0 or 1, got 2"),
        (lambda: MGD(LinearRanker(), challengers=0), "challengers must be at least 1"),
        (lambda: COLTR(LinearRanker(), delta=0), "delta above 0"),
        (lambda: Thompson({"a": LinearRankerOf([1.0])}), "two or more rankers"),
        (lambda: EpsilonGreedy({"a": None, "b": None}, epsilon=2), "epsilon lies in"),
        (lambda: wrong_features(), "has 3 features, got 2"),
        (lambda: other_learner(), "shown by 'dbgd', not by 'pdgd'"),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def learn_with(learner, clicks):
    learner.learn(learner.rank(np.eye(3), k=3), clicks)


def wrong_features():
    learner = PDGD(LinearRanker())
    learner.rank(np.eye(3))
    learner.rank(np.eye(2))


def other_learner():
    page = DBGD(LinearRanker()).rank(np.eye(3), k=3)
    PDGD(LinearRanker()).learn(page, [0, 0, 0])


def test_a_cut_file_is_refused(tmp_path):
    learner = trained(PDGD, 5)
    learner.save(tmp_path / "learner.zip")
    whole = (tmp_path / "learner.zip").read_bytes()
    (tmp_path / "cut.zip").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="not a saved learner, or it was cut short"):
        learner.load(tmp_path / "cut.zip")
    with pytest.raises(ValueError, match="holds a 'pdgd' learner, this is 'dbgd'"):
        DBGD(LinearRanker()).load(tmp_path / "learner.zip")
