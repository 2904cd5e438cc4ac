"""Every click model that is exported: exact, sampled right, fitted right, saved whole."""

from itertools import product

import numpy as np
import pytest

import rankloop.clicks as clicks
from rankloop.clicks import ClickLog, ClickModel
from rankloop.data import RankingDataset

MODELS = clicks.models()
ATTRACTION = [0.1, 0.45, 0.9]
SATISFACTION = [0.05, 0.4, 0.8]
RNG = np.random.default_rng(5)
SIGHT = RNG.uniform(0.2, 1.0, (5, 6))
SIGHT[0, 0] = 1.0
GIVEN = {
    "globalctr": {"rate": 0.3},
    "rankctr": {"rate": [0.5, 0.3, 0.2, 0.1, 0.05]},
    "documentctr": {"attraction": ATTRACTION},
    "rankdocumentctr": {"attraction": ATTRACTION},
    "pbm": {"examination": lambda rank: 1 / rank, "attraction": ATTRACTION},
    "ubm": {"examination": SIGHT, "attraction": ATTRACTION},
    "trustpbm": {"relevant": lambda k: 1 / k, "other": lambda k: 0.5 / k**2, "attraction": ATTRACTION},
    "contextualpbm": {
        "examination": {"phone": [1.0, 0.5, 0.2, 0.1, 0.05], "desktop": [0.9, 0.8, 0.6, 0.5, 0.4]},
        "attraction": ATTRACTION,
    },
    "cascade": {"attraction": ATTRACTION},
    "dcm": {"attraction": ATTRACTION, "continuation": [0.8, 0.7, 0.5, 0.4, 0.3]},
    "dbn": {"attraction": ATTRACTION, "satisfaction": SATISFACTION, "continuation": 0.85},
    "sdbn": {"attraction": ATTRACTION, "satisfaction": SATISFACTION},
    "ccm": {"attraction": ATTRACTION, "after_skip": 0.9, "after_poor": 0.8, "after_good": 0.3},
}


def data_of(*grades):
    return RankingDataset.from_groups(np.zeros((len(grades), 1)), grades, [len(grades)])


def all_pages(k, query=1):
    """Every click vector on one page of k documents, numbered as the rows of a data set."""
    vectors = np.array(list(product((0, 1), repeat=k)))
    pages = len(vectors)
    log = ClickLog(
        np.repeat(np.arange(pages), k),
        np.full(pages * k, query),
        np.tile(np.arange(k), pages),
        np.tile(np.arange(1, k + 1), pages),
        vectors.reshape(-1),
        layout=["phone"] * (pages * k),
    )
    return log, vectors


def test_every_model_is_here():
    assert set(GIVEN) == set(MODELS)


@pytest.mark.parametrize("name", GIVEN)
@pytest.mark.parametrize("k", [1, 3, 5])
def test_probabilities_of_all_click_vectors_sum_to_one(name, k):
    user = MODELS[name](**GIVEN[name])
    data = data_of(*[0, 2, 1, 2, 0][:k])
    log, vectors = all_pages(k)
    probability = np.exp(user.log_likelihood(log, data))
    assert probability.sum() == pytest.approx(1, abs=1e-12)
    one_page = log.select([0])
    np.testing.assert_allclose(user.click_probability(one_page, data), probability @ vectors, atol=1e-12)


@pytest.mark.parametrize("name", GIVEN)
def test_samples_match_the_probabilities(name):
    user = MODELS[name](**GIVEN[name])
    data, k, n = data_of(1, 2, 0, 2), 4, 1_000_000
    log, _ = all_pages(k)
    expected = np.exp(user.log_likelihood(log, data))
    drawn = user.sample(log.select(np.zeros(n, int)), data, seed=3).reshape(n, k)
    seen = np.bincount(drawn @ [8, 4, 2, 1], minlength=16) / n
    error = np.sqrt(expected * (1 - expected) / n)
    assert np.all(np.abs(seen - expected) <= 4 * error + 1e-15)


@pytest.mark.parametrize("name", GIVEN)
def test_conditional_probability_is_the_ratio_of_enumerated_ones(name):
    user = MODELS[name](**GIVEN[name])
    data, k = data_of(2, 1, 0, 2), 4
    log, vectors = all_pages(k)
    joint = np.exp(user.log_likelihood(log, data))
    found = user.conditional_click_probability(log, data).reshape(-1, k)
    for page, vector in enumerate(vectors):
        for rank in range(k):
            same = np.all(vectors[:, :rank] == vector[:rank], axis=1)
            if joint[same].sum() > 1e-12:
                wanted = joint[same & (vectors[:, rank] == 1)].sum() / joint[same].sum()
                assert found[page, rank] == pytest.approx(wanted, abs=1e-10)


def simulated(name, sessions=4000, seed=0):
    """A log with documents at many ranks, short and long pages, two layouts."""
    rng = np.random.default_rng(seed)
    sizes = [5, 3, 1, 4]
    data = RankingDataset.from_groups(rng.normal(size=(13, 2)), rng.integers(0, 3, 13), sizes)
    user = MODELS[name](**GIVEN[name])
    logs = [
        clicks.simulate(
            data,
            logging_policy=np.zeros(13),
            user=user,
            sessions=sessions,
            temperature=1.0,
            layout=layout,
            seed=seed + i,
        )
        for i, layout in enumerate(("phone", "desktop"))
    ]
    return ClickLog.concat(logs), data


def fittable(name):
    if name == "rankdocumentctr":
        return simulated("documentctr")
    return simulated(name)


@pytest.mark.parametrize("name", GIVEN)
@pytest.mark.parametrize("prior", [1.0, (0.5, 2.0)])
def test_em_never_lowers_the_likelihood(name, prior):
    log, _ = fittable(name)
    history = MODELS[name](prior=prior, iterations=60).fit(log).history_
    assert len(history) > 1
    assert np.all(np.diff(history) >= -1e-9 * np.abs(history[:-1]))


@pytest.mark.parametrize("name", GIVEN)
def test_the_fit_is_a_better_explanation_than_the_truth(name):
    log, data = fittable(name)
    truth = MODELS[name](**GIVEN[name]).log_likelihood(log, data).sum()
    fitted = MODELS[name](prior=1e-3, iterations=500).fit(log)
    assert fitted.log_likelihood(log).sum() > truth - 1e-6


@pytest.mark.parametrize("name", GIVEN)
def test_gradient_reaches_the_optimum_of_em(name):
    log, _ = fittable(name)
    by_em = MODELS[name](prior=(1.0, 1.0), iterations=5000, tolerance=1e-13).fit(log)
    by_gradient = MODELS[name](prior=(1.0, 1.0), iterations=2000, tolerance=1e-12).fit(log, method="gradient")
    assert by_gradient.history_[-1] == pytest.approx(by_em.history_[-1], abs=1e-6 * abs(by_em.history_[-1]))
    one, other = by_em.click_probability(log), by_gradient.click_probability(log)
    np.testing.assert_allclose(one, other, atol=1e-3)


@pytest.mark.parametrize("name", GIVEN)
def test_what_is_given_is_kept(name):
    log, data = fittable(name)
    model = MODELS[name](**GIVEN[name], iterations=3).fit(log, data)
    np.testing.assert_allclose(
        model.click_probability(log, data), MODELS[name](**GIVEN[name]).click_probability(log, data)
    )


@pytest.mark.parametrize("name", GIVEN)
def test_saved_and_loaded_models_agree(name, tmp_path):
    log, _ = fittable(name)
    model = MODELS[name](iterations=5).fit(log)
    model.save(tmp_path / "model.model")
    again = clicks.load_model(tmp_path / "model.model")
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.click_probability(log), model.click_probability(log))
    np.testing.assert_array_equal(again.history_, model.history_)


@pytest.mark.parametrize(
    "name", [name for name in GIVEN if MODELS[name].documents and name != "rankdocumentctr"]
)
def test_parameters_from_features(name, tmp_path):
    """Features that determine the grade recover the truth; unseen documents get a probability too."""
    log, data = fittable(name)
    data = data.replace(X=np.eye(3)[data.y.astype(int)])
    model = MODELS[name](prior=0.1, l2=1e-9, iterations=500).fit(log, features=data)
    truth = MODELS[name](**GIVEN[name])
    free = MODELS[name](prior=0.1, iterations=500).fit(log)
    per_page = model.log_likelihood(log, data).sum() / log.n_pages
    assert per_page == pytest.approx(truth.log_likelihood(log, data).sum() / log.n_pages, abs=0.01)
    assert per_page < free.log_likelihood(log).sum() / log.n_pages + 1e-6
    other = data_of(2, 2).replace(X=np.eye(3)[[2, 2]])
    assert model.relevance(other).shape == (2,)
    model.save(tmp_path / "model.model")
    again = clicks.load_model(tmp_path / "model.model")
    np.testing.assert_array_equal(again.relevance(other), model.relevance(other))


@pytest.mark.parametrize("name", GIVEN)
def test_an_unfitted_model_says_so(name):
    model = MODELS[name]()
    if name == "sdbn":
        assert model.continuation_ == 1.0
    log, _ = fittable(name)
    with pytest.raises(ValueError, match="fit it on a log, or give"):
        model.click_probability(log)


@pytest.mark.parametrize("name", GIVEN)
def test_an_empty_log_is_refused(name):
    with pytest.raises(ValueError, match="empty"):
        MODELS[name]().fit(ClickLog([], [], [], [], []))


def test_the_contract_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        ClickModel()


@pytest.mark.parametrize("name", ["globalctr", "rankctr", "rankdocumentctr"])
def test_models_without_use_for_features_say_so(name):
    log, data = fittable(name)
    with pytest.raises(ValueError, match="no parameters that features could explain"):
        MODELS[name]().fit(log, features=data)


def test_names_resolve_with_a_hint():
    assert clicks.model("contextual_pbm") is clicks.ContextualPBM
    with pytest.raises(ValueError, match="did you mean 'dbn'"):
        clicks.model("dnb")


def test_functions_are_not_saved(tmp_path):
    with pytest.raises(ValueError, match="examination is a function"):
        clicks.user("pbm").save(tmp_path / "user.model")
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_a_model_is_not_loaded(tmp_path):
    (tmp_path / "x.model").write_bytes(b"PK nonsense")
    with pytest.raises(ValueError, match="not a saved click model"):
        clicks.load_model(tmp_path / "x.model")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attraction": {0: 0.1, 2: 0.3}, "examination": 1.0}, "grades 0 to the highest"),
        ({"attraction": [0.1, 1.2], "examination": 1.0}, "attraction is a probability, got 1.2"),
        ({"attraction": [0.1], "examination": 1.0}, "grades 0 to 0, got a label 2"),
        ({"attraction": [0.1, 0.2, 0.3], "examination": [1.0]}, "values for 1 ranks but rank 2 is shown"),
        ({"attraction": lambda y: 0.5, "examination": 1.0}, "one value per label"),
        ({"attraction": 0.5, "examination": np.nan}, "examination is a probability, got nan"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        clicks.PBM(**options).click_probability([2, 1])


def test_bad_pages():
    user = clicks.user("pbm")
    with pytest.raises(ValueError, match="offsets run from 0 to 2"):
        user.sample([0, 1], offsets=[0, 3])
    with pytest.raises(ValueError, match="one grade per document"):
        user.sample([[0, 1]])
    log, _ = all_pages(2)
    with pytest.raises(ValueError, match="pass data="):
        user.click_probability(log)


def test_samples_repeat_with_the_seed_and_move_on_with_a_generator():
    user, grades = clicks.user("informational"), np.tile([4, 2, 0, 1], 50)
    offsets = np.arange(0, 201, 4)
    np.testing.assert_array_equal(
        user.sample(grades, offsets=offsets, seed=1), user.sample(grades, offsets=offsets, seed=1)
    )
    rng = np.random.default_rng(0)
    one, other = (user.sample(grades, offsets=offsets, seed=rng) for _ in range(2))
    assert np.any(one != other)
