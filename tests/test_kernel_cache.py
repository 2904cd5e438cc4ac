"""Machine code on disk is used again when nothing changed, and never after an edit of what it calls."""

import os
import subprocess
import sys

import pytest

from rankloop._kernel_cache import fingerprint

CALLEE = {
    "part": "from rankloop._jit import part\n@part\ndef change(x):\n    return x + {number}\n",
    "constant": "STEP = {number}\n",
    "array": "import numpy as np\nSTEPS = np.array([{number}])\n",
    "intrinsic": """
from numba import types
from numba.extending import intrinsic

def _change(typing, x):
    def code(context, builder, signature, args):
        return builder.add(args[0], context.get_constant(types.int64, amount()))
    return types.int64(types.int64), code

def amount():
    return {number}

change = intrinsic(_change)
""",
}
KERNEL = {
    "part": "from small.callee import change\n@kernel\ndef run(x):\n    return change(x)\n",
    "constant": "from small.callee import STEP\n@kernel\ndef run(x):\n    return x + STEP\n",
    "array": "from small.callee import STEPS\n@kernel\ndef run(x):\n    return x + STEPS[0]\n",
    "intrinsic": "from small.callee import change\n@kernel\ndef run(x):\n    return change(x)\n",
}
PROBE = """
from small.caller import run
print(run(1), sum(run.stats.cache_hits.values()), sum(run.stats.cache_misses.values()))
"""


def write(folder, kind, number):
    package = folder / "small"
    package.mkdir(exist_ok=True)
    (package / "__init__.py").touch()
    (package / "callee.py").write_text(CALLEE[kind].format(number=number))
    (package / "caller.py").write_text(f"from rankloop._jit import kernel\n{KERNEL[kind]}")


def run(folder, probe=PROBE, **environment):
    """What the probe prints in a new process: the result, cache hits and cache misses of the kernel."""
    path = os.pathsep.join([str(folder), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", probe],
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return tuple(map(int, done.stdout.split()))


@pytest.mark.parametrize("kind", sorted(CALLEE))
def test_an_edit_in_another_file_recompiles(tmp_path, kind):
    write(tmp_path, kind, 10)
    assert run(tmp_path) == (11, 0, 1)
    assert run(tmp_path) == (11, 1, 0)
    write(tmp_path, kind, 20)
    assert run(tmp_path) == (21, 0, 1)
    assert run(tmp_path) == (21, 1, 0)
    assert len(list(tmp_path.rglob("*.nbi"))) == 1  # the machine code of the earlier sources is gone


def test_an_edit_behind_a_part_recompiles(tmp_path):
    write(tmp_path, "part", 10)
    (tmp_path / "small" / "middle.py").write_text(
        "from rankloop._jit import part\nfrom small import callee\n"
        "@part\ndef twice(x):\n    return callee.change(callee.change(x))\n"
    )
    (tmp_path / "small" / "caller.py").write_text(
        "from rankloop._jit import kernel\nfrom small.middle import twice\n"
        "@kernel\ndef run(x):\n    return twice(x)\n"
    )
    assert run(tmp_path) == (21, 0, 1)
    (tmp_path / "small" / "callee.py").write_text(CALLEE["part"].format(number=20))
    assert run(tmp_path) == (41, 0, 1)
    assert run(tmp_path) == (41, 1, 0)


def test_a_read_only_package_is_cached_elsewhere(tmp_path):
    write(tmp_path, "part", 10)
    (tmp_path / "small" / "__pycache__").write_text("numba cannot make a folder of this name\n")
    user = tmp_path / "user"
    for expected in ((11, 0, 1), (11, 1, 0)):
        assert run(tmp_path, XDG_CACHE_HOME=str(user), HOME=str(user)) == expected
    assert list(user.rglob("*.nbi"))


def test_several_processes_at_once(tmp_path):
    write(tmp_path, "part", 10)
    path = os.pathsep.join([str(tmp_path), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-c", PROBE]
    started = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    results = [process.communicate()[0].split()[0] for process in started]
    assert results == ["11"] * 3
    assert run(tmp_path) == (11, 1, 0)


def test_whether_it_is_compiled_is_known_before_the_first_call(tmp_path):
    write(tmp_path, "part", 10)
    probe = (
        "from small.caller import run; print(int(run._cache.on_disk)); run(1); print(int(run._cache.on_disk))"
    )
    assert run(tmp_path, probe) == (0, 1)
    assert run(tmp_path, probe) == (1, 1)
    write(tmp_path, "part", 20)
    assert run(tmp_path, probe) == (0, 1)


def test_only_what_the_kernel_names_counts():
    source = "def run(x):\n    return x + STEP"
    same = [{"STEP": 1, "__name__": "small"}, {"STEP": 1, "UNUSED": 2, "__name__": "small"}]
    other = {"STEP": 2, "__name__": "small"}
    for names in (*same, other):
        exec(source, names)
    first, second = (fingerprint(names["run"]) for names in same)
    assert first == second != fingerprint(other["run"])
