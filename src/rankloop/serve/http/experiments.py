"""Administration routes for experiments: start, look, end."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Depends, Path, Request, Response

from rankloop.serve.desk.acts import note_act
from rankloop.serve.http.answers import ADMIN, in_waiting_thread, service_of
from rankloop.serve.http.schema_admin import ExperimentOut, ExperimentRequest, ExperimentsAnswer
from rankloop.serve.http.tokens import only_admin, who
from rankloop.serve.json_value import json_value

if TYPE_CHECKING:
    from rankloop.serve.experiments.experiments import Experiment
    from rankloop.serve.service import Service

__all__ = ["router"]

router = APIRouter(
    prefix="/experiments", tags=["administration"], dependencies=[Depends(only_admin)], responses=ADMIN
)

Id = Annotated[str, Path(min_length=1, max_length=50)]


@router.get("", response_model=ExperimentsAnswer)
async def experiments(request: Request) -> Response:
    """All experiments with their verdicts so far, the newest first."""
    service = service_of(request)

    def work() -> ExperimentsAnswer:
        return ExperimentsAnswer(experiments=[_out(service, one) for one in service.experiments.every()])

    return await in_waiting_thread(request, work)


@router.post("", response_model=ExperimentOut)
async def start_experiment(request: Request, body: ExperimentRequest) -> Response:
    """Begin an interleaving or an A/B experiment on a share of the people."""
    service = service_of(request)

    def work() -> ExperimentOut:
        started = service.versions.start_experiment(body)
        note_act(service.store, who(request), "start experiment", id=started.id, a=started.a, b=started.b)
        return _out(service, started)

    return await in_waiting_thread(request, work)


@router.get("/{id}", response_model=ExperimentOut)
async def experiment(request: Request, id: Id) -> Response:
    """The verdict so far."""
    service = service_of(request)
    return await in_waiting_thread(request, lambda: _out(service, service.experiments.get(id)))


@router.post("/{id}/end", response_model=ExperimentOut)
async def end_experiment(request: Request, id: Id) -> Response:
    """End an experiment; its verdict stays."""
    service = service_of(request)

    def work() -> ExperimentOut:
        ended = service.versions.end_experiment(id)
        note_act(service.store, who(request), "end experiment", id=ended.id)
        return _out(service, ended)

    return await in_waiting_thread(request, work)


def _out(service: "Service", one: "Experiment") -> ExperimentOut:
    progress = service.experiments.progress(one)
    found = {name: getattr(progress, name) for name in ("pages", "verdict")}
    return ExperimentOut.model_validate(asdict(one) | json_value(found))
