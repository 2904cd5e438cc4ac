"""The panel of experiments and their verdicts so far."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from rankloop.interleaving.sequential.boundary import LEAST_PEOPLE
from rankloop.report import preference
from rankloop.serve.pages.colours import colours_of
from rankloop.serve.pages.panels import Cell, Head, Panel, drawn, table, version_cell
from rankloop.serve.pages.rendering import count, moment, signed

if TYPE_CHECKING:
    from rankloop.serve.experiments.experiments import Experiment, Progress
    from rankloop.serve.models.registry import Version
    from rankloop.serve.service import Service

__all__ = ["experiments"]

FINISHED = 5  # experiments that ended and are still shown


def experiments(service: "Service", known: "Sequence[Version]", *, changing: bool) -> Panel:
    """Running experiments with their verdicts, and the last that ended."""
    every = service.experiments.every()
    running = [one for one in every if one.ended is None]
    ended = [one for one in every if one.ended is not None][:FINISHED]
    shown = [service.experiments.progress(one) for one in (*running, *ended)]
    duels = [_counts(one.verdict) for one in shown if one.verdict and one.experiment.kind == "interleave"]
    return Panel(
        "experiments",
        "Experiments",
        "Intervals and verdicts hold whenever you look." if shown else "No experiment was started yet.",
        _preferred(duels) if duels else None,
        heads=(
            Head("Versions"),
            Head("Kind"),
            Head("Since", whole=True),
            Head("Pages", True),
            Head("Difference", True),
            Head("Verdict"),
            *([Head("Change")] if changing else []),
        ),
        rows=table(
            (
                _pair(one.experiment),
                _kind(one.experiment),
                moment(one.experiment.started),
                count(one.pages),
                _difference(one),
                _verdict(one),
                *([_end(one.experiment)] if changing else []),
            )
            for one in shown
        ),
        form="experiment_form.html" if changing and len(known) > 1 else "",
        versions=tuple(one.version for one in known),
        free=round(100 * (1 - sum(one.share for one in running))),
        broad=True,
    )


def _preferred(duels: Sequence[Mapping[str, Any]]) -> Markup:
    names = [str(one[side]) for one in duels for side in ("first", "second")]
    figure = preference(duels, colours=colours_of(names), title="", note="")
    return drawn(figure, "Which ranking people prefer")


def _pair(one: "Experiment") -> Cell:
    return version_cell(f"{one.a} + {one.b}", f"{one.a} against {one.b}")


def _kind(one: "Experiment") -> str:
    share = f", {100 * one.share:.0f} % of people" if one.share < 1 else ""
    return ("interleaved" if one.kind == "interleave" else "A/B") + share


def _counts(verdict: Mapping[str, Any]) -> dict[str, Any]:
    """Pages won, lost and tied; the table has the verdict, which is by credit."""
    return {name: verdict[name] for name in ("first", "second", "wins", "losses", "ties")}


def _difference(one: "Progress") -> str:
    verdict: Mapping[str, Any] = one.verdict or {}
    value = verdict.get("difference")
    if value is None or not isfinite(value):
        return "\N{EN DASH}"
    return f"{signed(value)} [{signed(verdict['low'])}, {signed(verdict['high'])}]"


def _verdict(one: "Progress") -> str:
    if not one.verdict:
        return "no pages yet"
    winner = one.verdict["winner"]
    if winner:
        return f"{winner} is preferred"
    if one.verdict.get("ratio", {}).get("mismatch"):
        return "no verdict: people were not divided as intended"
    if (one.verdict.get("left") or {}).get("mismatch"):
        return "no verdict: people seen in both arms come from one of them"
    people = _people(one.verdict)
    if people < LEAST_PEOPLE:
        return f"{LEAST_PEOPLE} people are needed, {people:.0f} so far"
    return "no difference was shown" if one.experiment.ended is not None else "no difference so far"


def _people(verdict: Mapping[str, Any]) -> float:
    """How many people a verdict rests on; unequal arms count as fewer equal ones."""
    return float(verdict["effective_people"] if "effective_people" in verdict else verdict["people"])


def _end(one: "Experiment") -> Cell:
    if one.ended is not None:
        return Cell("ended")
    return Cell("End", action="/dashboard/experiments/end", name="experiment", value=one.id)
