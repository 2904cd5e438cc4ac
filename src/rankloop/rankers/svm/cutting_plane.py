"""Cutting planes: a convex risk that is not smooth, minimised with a certified gap."""

import numpy as np

from rankloop._arrays import Floats
from rankloop.rankers.svm.hinge import HingeProblem

__all__ = ["cutting_plane"]


def cutting_plane(problem: HingeProblem, *, tolerance: float, iterations: int) -> tuple[Floats, int]:
    r"""Minimise |w|^2 / 2 + R(w), R the sum of hinges (Joachims 2006; Franc & Sonnenburg 2008).

    Every visited point adds a plane below R. The least value over the planes is a lower bound, the best
    point so far an upper one; it ends when they differ by less than `tolerance` times the upper one.
    """
    Z = problem.Z
    best, best_scores = np.zeros(Z.shape[1]), np.zeros(len(Z))
    risk, by_score = problem.hinge(best_scores)
    upper = risk
    planes, heights = np.zeros((1, Z.shape[1])), np.zeros(1)  # R >= 0 is the first plane
    gram, share = np.zeros((1, 1)), np.ones(1)
    point = best
    for iteration in range(1, iterations + 1):  # noqa: B007 # the number is returned too
        plane = Z.T @ by_score
        planes = np.vstack((planes, plane))
        heights = np.append(heights, risk - plane @ point)
        beside = planes[:-1] @ plane
        gram = np.block([[gram, beside[:, None]], [beside[None, :], np.array([[plane @ plane]])]])
        share = _shares(gram, heights, np.append(share, 0.0), tolerance * max(upper, 1e-300) / 10)
        aim = -share @ planes
        lower = float(heights @ share - 0.5 * (aim @ aim))
        aim_scores = Z @ aim
        step, upper = _line_search(problem, best, best_scores, aim, aim_scores, upper)
        best = best + step * (aim - best)
        best_scores = best_scores + step * (aim_scores - best_scores)
        if upper - lower <= tolerance * upper:
            break
        point = 0.9 * best + 0.1 * aim  # a plane here cuts more than one at either end
        risk, by_score = problem.hinge(0.9 * best_scores + 0.1 * aim_scores)
    return best, iteration


def _shares(gram: Floats, heights: Floats, share: Floats, gap: float) -> Floats:
    """The weights of the planes that maximise the lower bound: pairwise steps on the simplex."""
    slope = gram @ share - heights
    for _ in range(10_000):
        down = int(np.argmin(slope))
        if share @ slope - slope[down] <= gap:
            break
        up = int(np.argmax(np.where(share > 0, slope, -np.inf)))
        bend = gram[down, down] + gram[up, up] - 2 * gram[down, up]
        move = share[up] if bend <= 0 else min(share[up], (slope[up] - slope[down]) / bend)
        share[up] -= move
        share[down] += move
        slope += move * (gram[:, down] - gram[:, up])
    return share


def _line_search(
    problem: HingeProblem,
    here: Floats,
    here_scores: Floats,
    there: Floats,
    there_scores: Floats,
    value: float,
) -> tuple[float, float]:
    """The best step from here to there, by halving on the slope, and the objective at it."""
    path, path_scores = there - here, there_scores - here_scores
    low, high, best = 0.0, 1.0, 0.0
    step = 1.0
    for _ in range(12):
        w = here + step * path
        risk, by_score = problem.hinge(here_scores + step * path_scores)
        objective = risk + 0.5 * float(w @ w)
        if objective < value:
            value, best = objective, step
        if w @ path + by_score @ path_scores > 0:
            high = step
        elif step == 1.0:
            break
        else:
            low = step
        step = 0.5 * (low + high)
    return best, value
