"""The same jobs on many machines: the one argument that changes is `on`.

Every job works on shards (`write_shards`): whole queries, so that no list is ever split over two workers.
With `on="local"` (the default) the workers are processes of this machine, with `on="ray"` they are those of a
Ray cluster: the one that this process is connected to, the one at `RAY_ADDRESS`, or one that is started for
the job. What each worker finds is merged in the order of the shards, so the result is the same in both,
whoever was first and whoever was lost on the way.
"""

from typing import TYPE_CHECKING

from rankloop._lazy import lazy

if TYPE_CHECKING:
    from rankloop.cluster._failures import LostWorkerError as LostWorkerError
    from rankloop.cluster.counting import aggregate as aggregate
    from rankloop.cluster.curves import propensity as propensity
    from rankloop.cluster.describing import features as features
    from rankloop.cluster.describing import transform as transform
    from rankloop.cluster.learning import learn as learn
    from rankloop.cluster.measuring import compare as compare
    from rankloop.cluster.measuring import evaluate as evaluate
    from rankloop.cluster.scoring import predict as predict
    from rankloop.cluster.training import fit as fit
    from rankloop.cluster.tuning import tune as tune

_HOME = {
    "LostWorkerError": "_failures",
    "aggregate": "counting",
    "compare": "measuring",
    "evaluate": "measuring",
    "features": "describing",
    "fit": "training",
    "learn": "learning",
    "predict": "scoring",
    "propensity": "curves",
    "transform": "describing",
    "tune": "tuning",
}

__all__ = [*_HOME]


__getattr__ = lazy(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted(__all__)
