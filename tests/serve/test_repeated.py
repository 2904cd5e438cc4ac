"""A thread that takes a turn again and again: started once, stopped at any time."""

import threading
import time

import pytest

from rankloop.serve.repeated import Repeated
from serve.running import wait_until


class Counted(Repeated):
    def __init__(self, seconds=0.001):
        super().__init__("counted", seconds)
        self.turns, self.hold = 0, threading.Event()
        self.hold.set()

    def turn(self):
        self.turns += 1
        self.hold.wait(10)


def test_turns_are_taken_until_it_is_stopped():
    one = Counted()
    one.start()
    wait_until(lambda: one.turns > 3)
    one.stop()
    taken = one.turns
    time.sleep(0.05)
    assert one.turns == taken
    assert not any(thread.name == "counted" for thread in threading.enumerate())


def test_a_stop_waits_for_the_turn_under_way():
    one = Counted()
    one.hold.clear()
    one.start()
    wait_until(lambda: one.turns == 1)
    threading.Timer(0.1, one.hold.set).start()
    start = time.monotonic()
    one.stop()
    assert 0.05 < time.monotonic() - start < 5
    assert one.turns == 1


def test_one_that_never_started_is_stopped_too():
    one = Counted(seconds=60)
    one.stop()
    one.stop()
    assert one.turns == 0
    with pytest.raises(TypeError, match="abstract"):
        Repeated("nothing", 1.0)
