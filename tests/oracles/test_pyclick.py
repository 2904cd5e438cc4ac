"""Click models of PyClick (Chuklin, Markov & de Rijke, 2015), from the checkout that RANKLOOP_PYCLICK names.

PyPI's `pyclick` is another program. The checkout runs on Python 3 as it is. Its parameters are set to ours
for probabilities, likelihood and perplexity; its conditional probabilities are of what happened, click or
not. Where both count (rates, cascade) the fits are equal. Where PyClick counts instead of maximising the
likelihood (DCM, SDBN), starts EM elsewhere and stops it early (PBM, UBM), or has updates that are not of
its own likelihood (DBN, CCM: on a page without clicks), ours must be at least as likely.

Conventions that differ:

- PyClick adds one click and one skip to every parameter: our `prior=(1, 1)`;
- it cuts probabilities that EM learns at 1 - 1e-6;
- it averages the log-likelihood of a page over its ranks, and perplexity over ten ranks, shown or not;
- its UBM looks for "nothing clicked yet" in one place for likelihoods and in another for probabilities, which
  are the same on pages of ten results only: UBM is compared on those.
"""

import importlib
import math

import numpy as np
import pytest

from oracles.pages import OURS, ClickedPages
from oracles.peers import checkout

checkout("RANKLOOP_PYCLICK")

MODULES = {
    "globalctr": ("CTR", "GCTR"),
    "rankctr": ("CTR", "RCTR"),
    "documentctr": ("CTR", "DCTR"),
    "pbm": ("PBM", "PBM"),
    "ubm": ("UBM", "UBM"),
    "dcm": ("DCM", "DCM"),
    "dbn": ("DBN", "DBN"),
    "sdbn": ("SDBN", "SDBN"),
    "ccm": ("CCM", "CCM"),
    "cascade": ("CM", "CM"),
}
SESSIONS = importlib.import_module("pyclick.search_session.SearchSession")
RESULTS = importlib.import_module("pyclick.search_session.SearchResult")
STATIC = importlib.import_module("pyclick.click_models.Param").ParamStatic
EVALUATION = importlib.import_module("pyclick.click_models.Evaluation")
RTOL = 1e-10
QUERY = "q"


def new_peer(name):
    module, kind = MODULES[name]
    return getattr(importlib.import_module(f"pyclick.click_models.{module}"), kind)()


def sessions(pages, log):
    made = []
    clicks = pages.rows(log.click.astype(int))
    for page in range(pages.pages):
        session = SESSIONS.SearchSession(QUERY)
        for place in np.flatnonzero(pages.mask[page]):
            result = RESULTS.SearchResult(int(pages.shown[page, place]), int(clicks[page, place]))
            session.web_results.append(result)
        made.append(session)
    return made


def peer(name, values, pages):
    """A model of PyClick with our parameters in its place."""
    model = new_peer(name)
    names = model.param_names
    by_document = {"attraction": "attr", "satisfaction": "sat"}
    if name == "documentctr":
        by_document = {"attraction": "ctr"}
    single = {"rate": "ctr", "continuation": "cont", "after_skip": "cont_noclick"}
    single |= {"after_poor": "cont_click_nonrel", "after_good": "cont_click_rel"}
    for ours, value in values.items():
        if ours in by_document:
            for document in range(pages.documents):
                model.params[names[by_document[ours]]].set(STATIC(float(value[document])), QUERY, document)
        elif ours == "examination" and name == "ubm":
            # PyClick counts ranks from 0 and has the last column for "nothing clicked yet".
            for rank in range(pages.depth):
                for last in range(rank + 1):
                    model.params[names.exam].set(STATIC(float(value[rank, last])), rank, last - 1)
        elif ours == "examination":
            for rank in range(pages.depth):
                model.params[names.exam].set(STATIC(float(value[rank])), rank)
        elif np.ndim(value):
            for rank in range(pages.depth):
                model.params[names[single[ours]]].set(STATIC(float(value[rank])), rank)
        else:
            model.params[names[single[ours]]].set(STATIC(float(value)))
    return model


def some_pages(name, seed, pages, *, full=False):
    """Short and long pages; for the UBM pages of ten results, as it needs."""
    ten = {"depth": 10, "documents": 12, "full": True} if name == "ubm" else {"full": full}
    return ClickedPages(seed, pages=pages, **ten)


def probabilities(model, asked):
    """PyClick's click probabilities before anything is clicked, and the chance of what happened then."""
    before = np.concatenate([model.get_full_click_probs(one) for one in asked])
    happened = np.concatenate([model.get_conditional_click_probs(one) for one in asked])
    return before, happened


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", OURS)
def test_click_probabilities(name, seed):
    pages = some_pages(name, seed, 300)
    ours = OURS[name](**pages.parameters(name))
    asked = sessions(pages, pages.log)
    before, happened = probabilities(peer(name, pages.parameters(name), pages), asked)
    np.testing.assert_allclose(ours.click_probability(pages.log, pages.data), before, rtol=RTOL)
    if name != "cascade":  # PyClick repeats the probability from before anything was seen, as CLAX does
        given = ours.conditional_click_probability(pages.log, pages.data)
        np.testing.assert_allclose(np.where(pages.log.click, given, 1 - given), happened, rtol=RTOL)


@pytest.mark.parametrize("name", [name for name in OURS if name != "cascade"])
def test_likelihood_and_perplexity(name):
    """On full pages of ten ranks, where both mean the same but for the average over ranks."""
    pages = ClickedPages(4, pages=300, depth=10, documents=12, full=True)
    ours = OURS[name](**pages.parameters(name))
    log = pages.clicked_by(ours)
    asked, model = sessions(pages, log), peer(name, pages.parameters(name), pages)
    likelihood = EVALUATION.LogLikelihood().evaluate(model, asked)
    assert ours.log_likelihood(log, pages.data).mean() / 10 == pytest.approx(likelihood, rel=RTOL)
    for given_clicks, kind in ((False, EVALUATION.Perplexity), (True, EVALUATION.PerplexityCond)):
        mean, per_rank = kind().evaluate(model, asked)
        found = ours.perplexity(log, pages.data, given_clicks=given_clicks).per_rank
        np.testing.assert_allclose(found, per_rank, rtol=RTOL)
        assert found.mean() == pytest.approx(mean, rel=RTOL)


@pytest.mark.parametrize("name", ["globalctr", "rankctr", "documentctr", "cascade"])
def test_counted_parameters_are_equal(name):
    pages = ClickedPages(5, pages=1000, full=True)
    model = new_peer(name)
    model.train(sessions(pages, pages.log))
    fitted = OURS[name](prior=(1.0, 1.0), tolerance=1e-14, iterations=1000).fit(pages.log)
    found = pages.learned(fitted, name)
    (container,) = model.params.values()
    if "attraction" in found:
        expected = [container.get(QUERY, document).value() for document in range(pages.documents)]
        np.testing.assert_allclose(found["attraction"], expected, rtol=1e-9)
    elif name == "rankctr":
        expected = [container.get(rank).value() for rank in range(pages.depth)]
        np.testing.assert_allclose(found["rate"], expected, rtol=1e-9)
    else:
        assert found["rate"] == pytest.approx(container.get().value(), rel=1e-9)


@pytest.mark.parametrize("name", ["pbm", "ubm", "dcm", "dbn", "sdbn", "ccm"])
def test_our_fit_is_at_least_as_likely(name):
    """On clicks of the same model, judged by PyClick's own likelihood of the parameters that each learned."""
    pages = some_pages(name, 6, 200, full=True)
    pages.by_rank = np.sort(pages.by_rank)[::-1] / pages.by_rank.max()
    pages.browsing[0, 0] = 1.0
    log = pages.clicked_by(OURS[name](**pages.parameters(name)), seed=1)
    asked = sessions(pages, log)
    theirs = new_peer(name)
    if name in ("pbm", "ubm", "dbn", "ccm"):
        theirs._inference.iter_num = 20  # of 50: one takes seconds
    theirs.train(asked)
    fitted = OURS[name](prior=0.0, iterations=5000, tolerance=1e-12).fit(log)
    learned = pages.learned(fitted, name)
    judge = EVALUATION.LogLikelihood()
    ours = judge.evaluate(peer(name, learned, pages), asked)
    assert math.isfinite(ours)
    assert fitted.log_likelihood(log).mean() / pages.depth == pytest.approx(ours, rel=1e-9)
    assert ours >= judge.evaluate(theirs, asked) - 1e-9
    # And more likely than the truth that drew the clicks, as an optimum is.
    assert ours >= judge.evaluate(peer(name, pages.parameters(name), pages), asked) - 1e-9
