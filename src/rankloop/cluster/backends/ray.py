"""`backend="ray"`: tasks and teams on a Ray cluster."""

import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from uuid import uuid4

from rankloop._extras import require
from rankloop._progress import Advance
from rankloop.cluster.backends.lost_worker_error import AGAIN, RETRIES, LostWorkerError, is_transient
from rankloop.cluster.backends.versions import here, refuse_others
from rankloop.cluster.backends.worker import packed, packed_error, unpacked

__all__ = ["Ray"]

_INTERVAL = 0.2  # seconds between two looks at the progress of a team


class Ray:
    """The cluster this process is connected to, the one at RAY_ADDRESS, or one started for the job."""

    def __init__(self, workers: int | None) -> None:
        self.requested = workers
        self.workers = workers or 0

    @contextmanager
    def connected(self) -> Iterator[None]:
        ray = require("ray", "cluster")
        ours = not ray.is_initialized()
        if ours:
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            quiet = {"log_to_driver": False, "logging_level": "ERROR"}
            try:
                ray.init(address="auto", **quiet)
            except ConnectionError:
                ray.init(num_cpus=self.requested, include_dashboard=False, **quiet)
        try:
            self.workers = self.requested or max(1, int(ray.cluster_resources().get("CPU", 1)))
            _refuse_other_versions(ray)
            yield
        finally:
            if ours:
                ray.shutdown()

    def map(
        self, task: Callable[[Any], Any], inputs: Sequence[Any], done: Callable[[int, Any], None]
    ) -> None:
        """`done(index, result)` for each input as it comes; the tasks of a lost node run on another."""
        ray = require("ray", "cluster")
        with self.connected():
            call = ray.remote(num_cpus=1, max_retries=RETRIES, scheduling_strategy="SPREAD")(_call)
            waiting = iter(enumerate(inputs))
            running: dict[Any, int] = {}
            while True:
                while len(running) < self.workers and (following := next(waiting, None)) is not None:
                    running[call.remote(packed((task, following[1])))] = following[0]
                if not running:
                    return
                ready, _ = ray.wait(list(running), num_returns=1)
                index = running.pop(ready[0])
                try:
                    result = ray.get(ready[0])
                except ray.exceptions.RayTaskError as error:
                    raise error.cause from error
                except ray.exceptions.RayError as error:
                    raise LostWorkerError(index, len(inputs), RETRIES + 1) from error
                done(index, unpacked(result))

    def together(
        self, task: Callable[..., Any], argument: Any, advance: Advance, *, torch: bool = False
    ) -> Any:
        """`task(argument, member)` in all workers at once, by Ray Train; the result of the first.

        With `torch` it is a `TorchTrainer`, else a `LightGBMTrainer`. Ray Train starts again when
        a worker or a node is lost, and waits a few minutes for another where there are too few cores.
        """
        ray = require("ray", "cluster")
        train = require("ray.train", "cluster")
        with self.connected(), tempfile.TemporaryDirectory() as folder:
            board = ray.remote(num_cpus=0)(_Board).options(scheduling_strategy=_this_node(ray)).remote()
            if torch:
                trainer = require("ray.train.torch", "cluster").TorchTrainer
            else:
                trainer = require("ray.train.lightgbm", "cluster").LightGBMTrainer
            work = trainer(
                _member_loop,
                train_loop_config={"work": packed((task, argument)), "board": board},
                scaling_config=train.ScalingConfig(num_workers=self.workers),
                run_config=train.RunConfig(
                    storage_path=folder,
                    failure_config=train.FailureConfig(
                        max_failures=RETRIES, controller_failure_limit=RETRIES
                    ),
                ),
            )
            with _shown(ray, board, advance):
                try:
                    work.fit()
                except train.ControllerError as error:
                    cores = int(ray.cluster_resources().get("CPU", 0))
                    raise RuntimeError(
                        f"Ray could not start {self.workers} workers of one core: the cluster has {cores}, "
                        "and others may use them; use fewer workers, or call again when there are more nodes"
                    ) from error
                except train.TrainingFailedError as error:
                    raise LostWorkerError(0, self.workers, RETRIES + 1) from error
            failed, result = ray.get(board.outcome.remote())
            if failed is not None:
                mistake: BaseException = unpacked(failed)
                raise mistake
            return unpacked(result)


def _call(whole: bytes) -> bytes:
    task, argument = unpacked(whole)
    return packed(task(argument))


def _this_node(ray: Any) -> Any:
    strategies = require("ray.util.scheduling_strategies", "cluster")
    node = ray.get_runtime_context().get_node_id()
    return strategies.NodeAffinitySchedulingStrategy(
        node, soft=False
    )  # another node may be lost before this one


def _refuse_other_versions(ray: Any) -> None:
    strategies = require("ray.util.scheduling_strategies", "cluster")
    answers = {}
    for node in ray.nodes():
        if node["Alive"]:
            there = strategies.NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            probe = ray.remote(num_cpus=0, scheduling_strategy=there)(_versions)
            answers[f"node {node['NodeManagerAddress']} ({node['NodeID'][:8]})"] = probe.remote()
    for where, answer in answers.items():
        try:
            theirs = ray.get(answer)
        except ray.exceptions.RayTaskError as error:
            why = str(error.cause).strip().splitlines()[-1]
            raise ValueError(f"rankloop does not run on {where}: {why}") from error
        except ray.exceptions.RayError:
            continue  # lost meanwhile; other nodes do its work
        refuse_others(theirs, where)


def _versions() -> dict[str, str]:
    return dict(here())


class _Board:
    """An actor through which the members of a team pass progress and values."""

    def __init__(self) -> None:
        self.reports: list[tuple[float, str]] = []
        self.sum = 0.0
        self.failed: bytes | None = None
        self.result: bytes | None = None
        self.gathered: dict[str, dict[int, Any]] = {}

    def begin(self) -> None:
        """Start another try: the progress of the last one is taken back."""
        if self.sum:
            self.report(-self.sum, AGAIN)

    def report(self, by: float, note: str) -> None:
        self.reports.append((by, note))
        self.sum += by

    def fail(self, error: bytes) -> None:
        self.failed = self.failed or error

    def finish(self, result: bytes) -> None:
        self.result = result

    def put(self, place: str, rank: int, value: Any) -> None:
        self.gathered.setdefault(place, {})[rank] = value

    def values(self, place: str, count: int) -> list[Any]:
        return [self.gathered[place][rank] for rank in range(count)]

    def outcome(self) -> tuple[bytes | None, bytes | None]:
        return self.failed, self.result

    def news(self) -> list[tuple[float, str]]:
        reports, self.reports = self.reports, []
        return reports


class _Member:
    """A worker of a team on Ray: see `backend.Member`."""

    def __init__(self, rank: int, count: int, board: Any) -> None:
        self.rank, self.count, self._board = rank, count, board

    def gather(self, value: Any) -> list[Any]:
        """The values of all members, by rank; returns when all have sent theirs."""
        ray, collective = require("ray", "cluster"), require("ray.train.collective", "cluster")
        place = collective.broadcast_from_rank_zero(uuid4().hex)
        ray.get(self._board.put.remote(place, self.rank, value))
        collective.barrier()
        values: list[Any] = ray.get(self._board.values.remote(place, self.count))
        return values

    def address(self) -> str:
        """Where the others of its team reach it; all members must call it together."""
        host = str(require("ray.util", "cluster").get_node_ip_address())
        return "127.0.0.1" if set(self.gather(host)) == {host} else host  # one machine: nothing leaves it

    @property
    def machine(self) -> int:
        """The number of the node it is on."""
        return int(require("ray.train", "cluster").get_context().get_node_rank())

    def report(self, by: float, note: str = "") -> None:
        self._board.report.remote(by, note)


def _member_loop(config: dict[str, Any]) -> None:
    ray = require("ray", "cluster")
    context = require("ray.train", "cluster").get_context()
    board = config["board"]
    if ray.get(board.outcome.remote())[0] is not None:
        return  # started again after an error that another try would repeat
    member = _Member(context.get_world_rank(), context.get_world_size(), board)
    if member.rank == 0:
        ray.get(board.begin.remote())
    task, argument = unpacked(config["work"])
    try:
        result = task(argument, member)
    except Exception as error:
        if not is_transient(error):
            ray.get(board.fail.remote(packed_error(error)))
        raise
    if member.rank == 0:
        ray.get(board.finish.remote(packed(result)))


@contextmanager
def _shown(ray: Any, board: Any, advance: Advance) -> Iterator[None]:
    """Show the progress that members report while the block runs."""
    over = threading.Event()

    def watch() -> None:
        ended = False
        while not ended:
            ended = over.wait(_INTERVAL)  # and then a last look
            with suppress(ray.exceptions.RayError):  # the training raises what is wrong
                for by, note in ray.get(board.news.remote()):
                    advance(by, note)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
