"""Click models of CLAX (PyPI clax-models, Hager et al., 2025): probabilities, likelihood and optimum.

The parameters are given to both, in double precision. Fitted parameters are judged by the gradient of CLAX's
likelihood, which is 0 where ours stopped. Conventions that differ, each named where it matters:

- given that nothing above was clicked, CLAX's cascade model repeats the probability of a click from before
  anything was seen, and does not divide by that of having come so far;
- examination at rank 1 is 1 in the PBM and UBM that we fit, since only products are identified; CLAX leaves
  it free, so it also fits readers who see another rank more often than the first;
- CLAX gives impossible clicks a floor (1e-8 in the cascade model); for us their likelihood is 0.
"""

import clax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from clax.parameters import Parameter
from flax import nnx

from oracles.pages import OURS, ClickedPages

DEPTH = 6
RTOL, ATOL = 1e-9, 1e-12
SEEDS = range(3)


class Given(Parameter):
    """A table of logits, looked up by a column of the batch (or one number)."""

    def __init__(self, logits, column=None):
        self.table = nnx.Param(jnp.atleast_1d(jnp.asarray(logits)))
        self.column = column

    def logit(self, batch=None):
        return self.table.value if self.column is None else self.table.value[batch[self.column]]

    def prob(self, batch=None):
        return jax.nn.sigmoid(self.logit(batch))

    def log_prob(self, batch=None):
        return jax.nn.log_sigmoid(self.logit(batch))


def logit(probability):
    clipped = np.clip(np.asarray(probability, float), 1e-15, 1 - 1e-15)
    return np.log(clipped) - np.log1p(-clipped)


def batch(pages, log):
    return {
        "clicks": jnp.asarray(pages.rows(log.click.astype(int))),
        "mask": jnp.asarray(pages.mask),
        "positions": jnp.tile(jnp.arange(1, DEPTH + 1), (pages.pages, 1)),
        "query_doc_ids": jnp.asarray(pages.shown),
    }


def by_document(values):
    return Given(logit(values), "query_doc_ids")


def from_rank(values):
    """CLAX counts ranks from 1 in its batches: the entry 0 is not used."""
    return Given(logit(np.append(0.5, values)), "positions")


def browsing(matrix):
    """CLAX's UBM looks up rank × depth + last clicked rank."""
    flat = np.full((DEPTH + 1) * (DEPTH + 1), 0.5)
    for rank in range(1, DEPTH + 1):
        for last in range(rank):
            flat[rank * DEPTH + last] = matrix[rank - 1, last]
    return Given(logit(flat), "examination_idx")


def peer(name, values):
    """The model of CLAX with our parameters in its place."""
    rngs = nnx.Rngs(0)
    if name in ("dbn", "sdbn"):
        model = clax.DynamicBayesianNetwork(
            attraction=by_document(values["attraction"]), satisfaction=by_document(values["satisfaction"]),
            fix_continuation=name == "sdbn", rngs=rngs,
        )  # fmt: skip
        model.continuation = Given(logit(values.get("continuation", 0.5)))
    elif name == "ccm":
        model = clax.ClickChainModel(attraction=by_document(values["attraction"]), rngs=rngs)
        model.continuation_exam_no_click = Given(logit(values["after_skip"]))
        model.continuation_click_not_satisfied = Given(logit(values["after_poor"]))
        model.continuation_click_satisfied = Given(logit(values["after_good"]))
    elif name == "globalctr":
        model = clax.GlobalCTRModel(rngs=rngs)
        model.ctr = Given(logit(values["rate"]))
    elif name == "rankctr":
        model = clax.RankCTRModel(ctr=from_rank(values["rate"]), rngs=rngs)
    elif name == "documentctr":
        model = clax.DocumentCTRModel(ctr=by_document(values["attraction"]), rngs=rngs)
    elif name == "pbm":
        model = clax.PositionBasedModel(
            examination=from_rank(values["examination"]), attraction=by_document(values["attraction"]),
            rngs=rngs,
        )  # fmt: skip
    elif name == "ubm":
        model = clax.UserBrowsingModel(
            positions=DEPTH, examination=browsing(values["examination"]),
            attraction=by_document(values["attraction"]), rngs=rngs,
        )  # fmt: skip
    elif name == "dcm":
        model = clax.DependentClickModel(
            attraction=by_document(values["attraction"]), continuation=from_rank(values["continuation"]),
            rngs=rngs,
        )  # fmt: skip
    else:
        model = clax.CascadeModel(attraction=by_document(values["attraction"]), rngs=rngs)
    return model


def probabilities(pages, name, log, values):
    """CLAX's click probabilities before anything is clicked, and given the clicks above."""
    model, given = peer(name, values), batch(pages, log)
    made = model.predict_clicks(given), model.predict_conditional_clicks(given)
    return [np.exp(np.asarray(one))[pages.mask] for one in made]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", OURS)
def test_click_probabilities(name, seed):
    pages = ClickedPages(seed, pages=1500, depth=DEPTH)
    ours = OURS[name](**pages.parameters(name))
    before, given = probabilities(pages, name, pages.log, pages.parameters(name))
    np.testing.assert_allclose(ours.click_probability(pages.log, pages.data), before, rtol=RTOL, atol=ATOL)
    found = ours.conditional_click_probability(pages.log, pages.data)
    if name != "cascade":
        np.testing.assert_allclose(found, given, rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_cascade_model_given_the_clicks(seed):
    """Nobody who has not clicked stops: the next document is seen, and clicked with its attraction.

    CLAX gives the probability from before anything was seen instead, so its product over a page is no
    probability of that page. Below the first click it has its floor, and we have 0.
    """
    pages = ClickedPages(seed, pages=500, depth=DEPTH)
    ours = OURS["cascade"](attraction=pages.attraction).conditional_click_probability(pages.log, pages.data)
    before, given = probabilities(pages, "cascade", pages.log, pages.parameters("cascade"))
    clicks = pages.rows(pages.log.click)
    above = (np.cumsum(clicks, axis=1) - clicks)[pages.mask]
    np.testing.assert_allclose(ours[above == 0], pages.attraction[pages.shown[pages.mask]][above == 0])
    np.testing.assert_allclose(given[above == 0], before[above == 0])
    assert np.all(ours[above > 0] == 0)
    np.testing.assert_allclose(given[above > 0], 1e-8)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", [name for name in OURS if name != "cascade"])
def test_likelihood(name, seed):
    pages = ClickedPages(seed, pages=1500, depth=DEPTH)
    ours = OURS[name](**pages.parameters(name))
    log = pages.clicked_by(ours, seed)
    cost = peer(name, pages.parameters(name)).compute_loss(batch(pages, log), aggregate=False)
    np.testing.assert_allclose(
        ours.log_likelihood(log, pages.data), -np.asarray(cost).sum(axis=1), rtol=RTOL, atol=1e-10
    )


@pytest.mark.parametrize(
    "name", ["globalctr", "rankctr", "documentctr", "pbm", "ubm", "dcm", "dbn", "sdbn", "ccm"]
)
def test_what_we_fit_is_an_optimum_of_their_likelihood(name):
    """Without priors, on clicks of the same model: the gradient per page by every logit of CLAX is 0."""
    pages = ClickedPages(0, pages=4000, depth=DEPTH)
    pages.by_rank = np.sort(pages.by_rank)[::-1] / pages.by_rank.max()
    pages.browsing[0, 0] = 1.0
    log = pages.clicked_by(OURS[name](**pages.parameters(name)), seed=1)
    fitted = OURS[name](prior=0.0, iterations=20_000, tolerance=1e-13).fit(log)
    model = peer(name, pages.learned(fitted, name))
    given = batch(pages, log)

    def cost(one):
        return jnp.sum(one.compute_loss(given, aggregate=False)) / pages.pages

    value, gradient = nnx.value_and_grad(cost)(model)
    assert float(value) == pytest.approx(-fitted.log_likelihood(log).mean(), rel=1e-9)
    assert float(value) < float(cost(peer(name, pages.parameters(name))))
    largest = max(float(jnp.abs(leaf).max()) for leaf in jax.tree.leaves(gradient))
    assert largest < 1e-5
