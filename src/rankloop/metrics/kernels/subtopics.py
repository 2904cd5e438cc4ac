"""The lists of each subtopic."""

from collections.abc import Callable, Iterator

import numpy as np

from rankloop._arrays import Bools, Floats
from rankloop.metrics.kernels.lists import MetricLists, Values

__all__ = ["each_subtopic", "mean_over_subtopics", "needs_subtopics", "subtopics_there"]


def needs_subtopics(lists: MetricLists, name: str) -> None:
    """An error where no subtopics are given."""
    if not lists.subtopics.shape[1] and lists.n_documents:
        raise ValueError(
            f"{name} needs subtopics=, a matrix of documents x subtopics: how far each document answers each "
            "aspect of its query"
        )


def each_subtopic(lists: MetricLists, ties: str) -> Iterator[tuple[MetricLists, str]]:
    """The lists with one subtopic's column for labels, and how ties in them count.

    The worst order of ties is one for all subtopics: the lowest label first.
    """
    scores, columns = lists.scores, lists.subtopics
    if ties == "worst":
        order = lists.lowest_first()
        scores, columns, ties = scores[order], columns[order], "stable"
    for column in columns.T:
        yield MetricLists(scores, np.ascontiguousarray(column), lists.offsets), ties


def subtopics_there(lists: MetricLists) -> Bools:
    """Lists x subtopics: whether any document of the list is about the subtopic."""
    about = np.concatenate((np.zeros((1, lists.subtopics.shape[1])), np.cumsum(lists.subtopics > 0, axis=0)))
    return np.asarray(np.diff(about[lists.offsets], axis=0) > 0)


def mean_over_subtopics(
    lists: MetricLists, ties: str, empty: str, value: Callable[[MetricLists, str], Floats]
) -> Values:
    """The mean over the subtopics of each list of a metric whose labels are the subtopic's column."""
    there = subtopics_there(lists)
    total = np.zeros(lists.n_lists)
    for at, (one, how) in enumerate(each_subtopic(lists, ties)):
        total += np.where(there[:, at], value(one, how), 0.0)
    number = there.sum(axis=1)
    return lists.blank(total / np.maximum(number, 1), number == 0, empty)
