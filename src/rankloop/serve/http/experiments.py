"""Routes of administration for experiments: start, look, end."""

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Depends, Path, Request, Response

from rankloop.serve.answer import plain
from rankloop.serve.http.answers import ADMIN, in_waiting, only_admin, service_of
from rankloop.serve.http.schema_admin import ExperimentOut, ExperimentRequest, ExperimentsAnswer

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
        return ExperimentsAnswer(experiments=[_told(service, one) for one in service.experiments.every()])

    return await in_waiting(request, work)


@router.post("", response_model=ExperimentOut)
async def start_experiment(request: Request, asked: ExperimentRequest) -> Response:
    """Begin an interleaving or an A/B experiment on a share of the people."""
    service = service_of(request)

    def work() -> ExperimentOut:
        return _told(service, service.start_experiment(asked))

    return await in_waiting(request, work)


@router.get("/{id}", response_model=ExperimentOut)
async def experiment(request: Request, id: Id) -> Response:
    """The verdict so far."""
    service = service_of(request)
    return await in_waiting(request, lambda: _told(service, service.experiments.get(id)))


@router.post("/{id}/end", response_model=ExperimentOut)
async def end_experiment(request: Request, id: Id) -> Response:
    """End an experiment; its verdict stays."""
    service = service_of(request)
    return await in_waiting(request, lambda: _told(service, service.end_experiment(id)))


def _told(service: "Service", one: "Experiment") -> ExperimentOut:
    standing = service.experiments.standing(one)
    return ExperimentOut(
        id=one.id,
        kind=one.kind,
        a=one.a,
        b=one.b,
        share=one.share,
        method=one.method,
        started=one.started,
        ended=one.ended,
        note=one.note,
        pages=standing.pages,
        verdict=plain(standing.verdict),
        always_valid=plain(standing.always_valid),
    )
