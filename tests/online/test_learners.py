"""All online learners: the sign of every step, exact resumption, changing candidates, bad input."""

import numpy as np
import pytest

import rankloop.online as online
from rankloop.data import RankingDataset
from rankloop.interleaving import TeamDraft
from rankloop.online import COLTR, DBGD, MGD, NSGD, PDGD, EpsilonGreedy, Learner, Thompson
from rankloop.rankers.linear_ranker import LinearRanker

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


def cosine(learner, truth=TRUTH):
    weights = learner.model.parameters
    return weights @ truth / max(np.linalg.norm(weights) * np.linalg.norm(truth), 1e-12)


def wants(learner, truth, pages, seed):
    """People who click what is truly among the best three by other weights."""
    random = np.random.default_rng(seed)
    for _ in range(pages):
        X = random.normal(size=(20, 5)).astype(np.float32)
        page = learner.rank(X, k=10)
        learner.learn(page, np.isin(page.shown, np.argsort(-(X @ truth))[:3]))


def shown_pages(learner, pages, seed, documents=20, k=10):
    """Documents, page and clicks of people who make no mistake, and the weights before they are learned."""
    random = np.random.default_rng(seed)
    for _ in range(pages):
        X = random.normal(size=(documents, 5)).astype(np.float32)
        page = learner.rank(X, k=k)
        yield X, page, noise_free_clicks(X, page.shown), learner.model.parameters.copy()


def trained(kind, pages, seed=0, **options):
    learner = kind(LinearRanker(), seed=seed, **options)
    for _, page, clicks, _ in shown_pages(learner, pages, 100 + seed):
        learner.learn(page, clicks)
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
    moved = 0
    for _, page, clicks, before in shown_pages(learner, 200, 0, documents=15, k=6):
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
def test_a_change_of_what_people_want_is_followed(kind):
    """After 150 pages people look at other features: 300 pages later the weights of 2 runs do too."""
    for seed in range(2):
        learner = trained(kind, 150, seed)
        assert cosine(learner) > 0.5
        assert cosine(learner, np.roll(TRUTH, 2)) < 0.5
        wants(learner, np.roll(TRUTH, 2), 300, seed)
        assert cosine(learner, np.roll(TRUTH, 2)) > 0.7


@pytest.mark.parametrize("kind", [PDGD, COLTR], ids=lambda k: k.name)
def test_weights_that_decay_survive_a_reversal(kind):
    """A sure policy whose pages nobody clicks any more learns nothing, unless it forgets."""
    sure, forgetful = trained(kind, 300), trained(kind, 300, decay=0.01)
    for learner in (sure, forgetful):
        assert cosine(learner) > 0.9
        wants(learner, -TRUTH, 400, seed=1)
    assert cosine(sure, -TRUTH) < 0
    assert cosine(forgetful, -TRUTH) > 0.9


def test_a_document_that_appears_later_is_found():
    """The one that people want comes after 100 pages: it is soon shown first, without a restart."""
    learner = PDGD(LinearRanker(), seed=0)
    old = np.eye(8, dtype=np.float32)[:, :7]
    for _ in range(100):
        page = learner.rank(np.hstack([old, np.zeros((8, 1))]), k=3)
        learner.learn(page, page.shown == 2)
    late = np.vstack([np.hstack([old, np.zeros((8, 1))]), np.eye(8)[7]])
    assert learner.predict(late).argmax() == 2
    for _ in range(400):
        page = learner.rank(late, k=3)
        learner.learn(page, page.shown == 8)
    assert learner.predict(late).argmax() == 8


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


def test_a_counterfactual_step_goes_towards_challengers_with_less_risk():
    """Every step is the mean of the directions whose challengers had less risk than the page, by loops."""
    learner = COLTR(LinearRanker(), challengers=6, seed=2)
    moved = 0
    for X, page, clicks, before in shown_pages(learner, 60, 3, documents=8, k=4):
        drawn = np.random.default_rng()
        drawn.bit_generator.state = learner.random.bit_generator.state
        learner.learn(page, clicks)
        step = learner.model.parameters - before
        if not clicks.any():
            assert not step.any()
            continue
        seen = int(np.flatnonzero(clicks)[-1]) + 1
        directions = drawn.normal(size=(6, 5))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        better = [
            direction
            for direction in directions
            if _risk(X, page.shown, clicks, seen, before, before + direction)
            < _risk(X, page.shown, clicks, seen, before, before)
        ]
        wanted = learner.learning_rate * np.mean(better, axis=0) if better else np.zeros(5)
        assert step == pytest.approx(wanted, abs=1e-12)
        moved += bool(better)
    assert moved > 10


def _risk(X, shown, clicks, seen, logging_policy, weights):
    """Self-normalised risk of the looked-at places plus its standard error, place by place."""
    ratio, risk = [], []
    for place in range(seen):
        left = [row for row in range(len(X)) if row not in shown[:place]]
        chance = [
            np.exp(X[shown[place]] @ w) / sum(np.exp(X[row] @ w) for row in left)
            for w in (weights, logging_policy)
        ]
        ratio.append(chance[0] / chance[1])
        risk.append(1.0 - clicks[place])
    ratio, risk = np.array(ratio), np.array(risk)
    mean = (ratio * risk).sum() / ratio.sum()
    error = np.sqrt(((ratio * (risk - mean)) ** 2).sum()) / ratio.sum()
    return mean + error


def test_a_bandit_has_a_learning_curve():
    data = online_data()
    rankers = {"good": LinearRankerOf(TRUTH), "poor": LinearRankerOf(-TRUTH)}
    curve = online.learning_curve(Thompson(rankers, seed=0), data, data, pages=200, checkpoints=[0, 200])
    good = online.learning_curve(EpsilonGreedy(rankers, epsilon=0), data, data, pages=1, checkpoints=[0])
    assert curve.offline[-1] == good.offline[0]


def online_data():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 5)).astype(np.float32)
    return RankingDataset(X, np.clip(np.round(X @ TRUTH), 0, 4), np.repeat(np.arange(20), 20))


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
        (lambda: COLTR(LinearRanker(), decay=1), "decay is the share"),
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
    with pytest.raises(ValueError, match="damaged, cut short or not a saved learner"):
        learner.load(tmp_path / "cut.zip")
    with pytest.raises(ValueError, match="holds a 'pdgd' learner, this is 'dbgd'"):
        DBGD(LinearRanker()).load(tmp_path / "learner.zip")
    bandit = Thompson({"a": LinearRankerOf([1.0]), "b": LinearRankerOf([-1.0])})
    with pytest.raises(ValueError, match="holds a learner, not a bandit"):
        bandit.load(tmp_path / "learner.zip")
