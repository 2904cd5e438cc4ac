"""A second process that compiles: when the rest is compiled here, and when nothing happens."""

from types import SimpleNamespace

import pytest

from rankloop import _beside
from rankloop._beside import compiling_beside


def kernel(*answers):
    """A kernel whose machine code is on disk from one look to the next."""
    looks = iter(answers)

    class Cache:
        @property
        def on_disk(self):
            return next(looks)

    return SimpleNamespace(_cache=Cache())


@pytest.fixture(autouse=True)
def two_cores(monkeypatch):
    monkeypatch.setattr(_beside.os, "cpu_count", lambda: 2)


def test_the_rest_is_compiled_as_soon_as_the_kernel_is_there():
    done = []
    with compiling_beside("json.tool", kernel(False, False, True), lambda: done.append("rest")) as compiles:
        done.append("read")
    assert compiles
    assert done == ["read", "rest"]


def test_a_second_process_that_fails_does_not_stop_the_rest():
    done = []

    class Never:
        on_disk = False

    with compiling_beside("no.such.module", SimpleNamespace(_cache=Never()), lambda: done.append("rest")):
        pass
    assert done == ["rest"]


def test_nothing_happens_where_all_is_compiled(monkeypatch):
    monkeypatch.setattr(_beside.subprocess, "Popen", lambda *given, **more: pytest.fail("a process started"))
    with compiling_beside("json.tool", kernel(True), lambda: pytest.fail("compiled again")) as compiles:
        assert not compiles


def test_a_mistake_while_reading_is_not_hidden():
    with (
        pytest.raises(OSError, match="no such file"),
        compiling_beside("json.tool", kernel(False), lambda: pytest.fail("compiled after a mistake")),
    ):
        raise OSError("no such file")
