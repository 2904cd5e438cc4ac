"""The alarm of a version that learns while it serves: how often it rolls back, and after how many pages.

People of different habits see pages of the learner or, one in ten, of the floor; on pages of the learner they
click so many times as often. The alarm looks after every page. Run: python benchmarks/online_alarm.py
"""

import numpy as np

from rankloop._table import Table
from rankloop.interleaving import ab_verdict
from results import benchmark, record

PEOPLE, CONTROL = 3000, 0.1
CELLS = {1.0: 400, 0.9: 60, 0.75: 60, 0.5: 60}  # times as many clicks: worlds


def world(rng, times):
    """The verdict over all pages of some thousand people; it names the first look that decided."""
    pages = rng.geometric(0.5, PEOPLE)
    person = rng.permutation(np.repeat(np.arange(PEOPLE), pages))
    floor = (rng.random(PEOPLE) < CONTROL)[person]
    chance = rng.beta(2, 4, PEOPLE)[person]
    clicked = rng.random(len(person)) < np.where(floor, chance, times * chance)
    arms = np.where(floor, "floor", "learner")
    return ab_verdict(clicked, arms, person, share=1 - CONTROL, names=("learner", "floor"))


def main():
    rng = np.random.default_rng(7)
    rows = []
    for times, worlds in CELLS.items():
        found = [world(rng, times) for _ in range(worlds)]
        stops = [one.stop for one in found if one.winner == "floor"]
        median = f"{np.median(stops):,.0f}" if stops else "–"
        record(
            "alarm",
            times=times,
            worlds=worlds,
            rolled_back=len(stops) / worlds,
            pages=np.median(stops) if stops else None,
        )
        rows.append((f"{times:g}", str(worlds), f"{100 * len(stops) / worlds:.1f} %", median))
    heads = ("clicks of the learner, times", "worlds", "rolled back", "after pages (median)")
    print(Table(heads, rows).text())


if __name__ == "__main__":
    benchmark(main)
