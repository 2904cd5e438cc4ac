"""Experiment trackers: callbacks for `LambdaMART(callbacks=[...])`."""

import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rankloop._extras import require
from rankloop.rankers.trees.boosting import Round

__all__ = ["MLflow", "Round", "TensorBoard"]


class TensorBoard:
    """Writes the validation metric of each round to a folder that TensorBoard shows.

    It is a context manager: `with TensorBoard("runs/trees") as board: LambdaMART(callbacks=[board])...`.
    """

    def __init__(self, folder: str | Path) -> None:
        board = require("tensorboard.summary.writer.event_file_writer", "tracking")
        self._event = require("tensorboard.compat.proto.event_pb2", "tracking").Event
        self._summary = require("tensorboard.compat.proto.summary_pb2", "tracking").Summary
        self._writer = board.EventFileWriter(str(folder))

    def __call__(self, seen: Round) -> None:
        if seen.value is None:
            return
        value = self._summary.Value(tag=f"valid/{seen.metric}", simple_value=seen.value)
        summary = self._summary(value=[value])
        self._writer.add_event(self._event(wall_time=time.time(), step=seen.number, summary=summary))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()


class MLflow:
    """Logs the validation metric of each round to the active MLflow run, or to a new one."""

    def __init__(self) -> None:
        self._mlflow: Any = require("mlflow", "tracking")

    def __call__(self, seen: Round) -> None:
        if seen.value is not None:  # MLflow's names of metrics allow no brackets and no @
            name = seen.metric.replace("@", " at ").replace("(", " ").replace(")", " ").replace("=", " ")
            self._mlflow.log_metric(f"valid {' '.join(name.split())}", seen.value, step=seen.number)
