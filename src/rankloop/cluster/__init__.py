"""The same jobs on many machines: only the argument `backend` changes.

Every job works on shards (`write_shards`) of whole queries, so no list is split over two workers. With
`backend="local"` (the default) the workers are processes of this machine, with `backend="ray"` those of a Ray
cluster: the one that this process is connected to, the one at `RAY_ADDRESS`, or one that is started for the
job. Results are merged in the order of the shards, so they are the same on both backends, whichever worker
was first and whichever was lost.
"""

from typing import TYPE_CHECKING

from rankloop._lazy import lazy

if TYPE_CHECKING:
    from rankloop.cluster.aggregate import aggregate as aggregate
    from rankloop.cluster.backends.lost_worker_error import LostWorkerError as LostWorkerError
    from rankloop.cluster.compare import compare as compare
    from rankloop.cluster.evaluate import evaluate as evaluate
    from rankloop.cluster.features import features as features
    from rankloop.cluster.fit import fit as fit
    from rankloop.cluster.learn import learn as learn
    from rankloop.cluster.predict import predict as predict
    from rankloop.cluster.propensity import propensity as propensity
    from rankloop.cluster.transform import transform as transform
    from rankloop.cluster.tune import tune as tune

_HOME = {
    "LostWorkerError": "backends.lost_worker_error",
    "aggregate": "aggregate",
    "compare": "compare",
    "evaluate": "evaluate",
    "features": "features",
    "fit": "fit",
    "learn": "learn",
    "predict": "predict",
    "propensity": "propensity",
    "transform": "transform",
    "tune": "tune",
}

__all__ = [*_HOME]


__getattr__ = lazy(__name__, _HOME)
