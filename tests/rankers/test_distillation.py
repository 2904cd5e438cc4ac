"""A student that learns a teacher's scores."""

import numpy as np
import pytest

from rankloop.data import synthetic
from rankloop.rankers import PointwiseRanker, RankSVM, distill
from rankloop.rankers.distill import soft_labels

DATA = synthetic(n_queries=40, docs_per_query=8, n_features=4, seed=0).replace(feature_names=None)
TEACHER = RankSVM().fit(DATA)


def test_a_student_of_the_same_kind_agrees_with_its_teacher_without_any_label():
    unlabelled = DATA.replace(y=np.zeros(DATA.n_documents))
    student = distill(TEACHER, RankSVM(C=100.0), unlabelled)
    scores, wanted = student.predict(DATA), TEACHER.predict(DATA)
    assert np.corrcoef(scores, wanted)[0, 1] > 0.95


def test_labels_run_from_0_to_top():
    wanted = TEACHER.predict(DATA)
    whole = soft_labels(TEACHER, DATA, top=3.0)
    np.testing.assert_allclose(whole.y, 3 * (wanted - wanted.min()) / np.ptp(wanted), rtol=1e-5, atol=1e-6)
    each = soft_labels(TEACHER, DATA, scale="query")
    tops = np.maximum.reduceat(each.y, DATA.offsets[:-1])
    np.testing.assert_allclose(tops[DATA.lengths > 1], 4.0)
    mixed = soft_labels(TEACHER, DATA, top=3.0, mix=0.25)
    np.testing.assert_allclose(mixed.y, 0.75 * whole.y + 0.25 * DATA.y, rtol=1e-5, atol=1e-6)


def test_the_student_given_stays_unfitted():
    student = PointwiseRanker()
    fitted = distill(TEACHER, student, DATA, DATA)
    assert not student.__sklearn_is_fitted__()
    assert fitted.metrics_["valid"]["ndcg@10"] > 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mix": 1.0}, "mix lies in"),
        ({"top": 0.0}, "top must be"),
        ({"scale": "list"}, "unknown scale 'list'"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        distill(TEACHER, RankSVM(), DATA, **options)
