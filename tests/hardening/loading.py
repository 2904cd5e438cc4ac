"""Loads crafted files one after the other in a process of its own: a crash ends it, and is seen.

python loading.py FOLDER: every file in it is loaded; prints the name before, and what became of it.
"""

import resource
import sys
import warnings
from pathlib import Path

import numpy as np

MEMORY = 6 << 30  # bytes of address space


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    import rankloop as rl
    from rankloop.rankers.trees.compile_forest import compile_forest

    X = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    for path in sorted(Path(sys.argv[1]).iterdir()):
        print(f"{path.name} ", end="", flush=True)
        loaded = False
        try:
            if path.suffix == ".model":
                ranker = rl.load(path)
                loaded = True
                ranker.predict(X[:, : ranker.n_features_in_])
                booster = getattr(getattr(ranker, "forest_", None), "booster", None)
                if hasattr(booster, "predict") and ranker.backend == "lightgbm":
                    booster.predict(X[:, : ranker.n_features_in_], pred_contrib=True)
            else:
                compile_forest(path.read_text()).score(X)
            print("loaded", flush=True)
        except (ValueError, FileNotFoundError):
            print("refused", flush=True)
        except MemoryError:
            print("memory", flush=True)
        except Exception as error:
            # What fits its class is loaded; that it cannot score is then the library's own error.
            print("loaded, " * loaded + f"{type(error).__name__}: {error}".splitlines()[0][:200], flush=True)


if __name__ == "__main__":
    main()
