"""One thin command per verb."""

import gc
import os
import sys
from typing import TYPE_CHECKING

from rankloop._lazy import lazy
from rankloop.cli.options.help import in_one_sentence

if TYPE_CHECKING:
    from rankloop.cli.app import app as app

__all__ = ["app", "main"]

# Threads of numpy and of the tree libraries sleep while they wait: where other programs run beside them,
# threads that spin make training many times slower.
PATIENT = {"OPENBLAS_THREAD_TIMEOUT": "4", "OMP_WAIT_POLICY": "PASSIVE"}

_HOME = {"app": "app"}

__getattr__ = lazy(__name__, _HOME)


def main() -> None:
    """Run the command; a user's mistake ends in one sentence, not in a traceback."""
    from rankloop.cli.options.apps import COMMANDS, app_with

    for name, value in PATIENT.items():
        os.environ.setdefault(name, value)
    gc.set_threshold(100_000)  # collecting while numba loads costs a tenth of a second
    wanted = tuple(sys.argv[1:2])
    with in_one_sentence():
        if {*wanted} & {*COMMANDS}:
            app_with(wanted)()  # the others are not loaded, which takes a tenth of a second too
        else:
            sys.modules[__name__].app()
