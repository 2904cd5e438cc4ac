"""Who can reach the workers of a job: nobody, or those that the user admits."""

import ctypes
import os
import socket
import threading
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from rankloop.cluster.backends import ray as _ray
from rankloop.cluster.backends.local import Local
from rankloop.cluster.training import collectives
from rankloop.cluster.training.collectives import Team, lightgbm_team

LISTEN = "0A"  # the state of a socket in /proc/net/tcp


def listening(argument, member):
    """The sockets on which this worker listens, once all members have begun."""
    member.gather(member.rank)
    return member.gather(own_sockets())


def own_sockets():
    own = {os.readlink(one) for one in Path("/proc/self/fd").iterdir() if one.is_symlink() and one.exists()}
    found = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            place, state, inode = (line.split()[at] for at in (1, 3, 9))
            if state == LISTEN and f"socket:[{inode}]" in own:
                found.append(place)
    return found


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="sockets are looked up in /proc")
def test_local_workers_listen_nowhere():
    assert Local(2).together(listening, None, lambda by, note="": None) == [[], []]


def lightgbm_listens(argument, member):
    """The sockets on which this worker listens while LightGBM's members meet, and after that."""
    gather, during = member.gather, []

    def watched(value):
        values = gather(value)
        during.extend(own_sockets())
        gather("looked")
        return values

    member.gather = watched
    with lightgbm_team(member):
        return gather((during, own_sockets()))


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="sockets are looked up in /proc")
def test_members_listen_on_loopback_and_only_until_they_have_met():
    for during, after in Local(2).together(lightgbm_listens, None, lambda by, note="": None):
        assert [place.partition(":")[0] for place in during] == ["0100007F"]  # 127.0.0.1
        assert after == []


def torch_listens(argument, member):
    torch = pytest.importorskip("torch")
    from rankloop.rankers.neural.processes import joined

    with joined(torch.device("cpu")) as processes:
        assert processes.summed(torch.ones(2)).tolist() == [2.0, 2.0]
        return member.gather(own_sockets())


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="sockets are looked up in /proc")
def test_networks_of_one_machine_listen_on_loopback():
    pytest.importorskip("torch")
    for places in Local(2).together(torch_listens, None, lambda by, note="": None, torch=True):
        assert {place.partition(":")[0] for place in places} <= {"0100007F"}


class Thread:
    """A member of a team of threads."""

    def __init__(self, rank, count, meeting, host="127.0.0.1"):
        self.rank, self.count, self.meeting, self.host = rank, count, meeting, host

    def address(self):
        return self.host

    def gather(self, value):
        values, barrier = self.meeting
        values[self.rank] = value
        barrier.wait(20)
        return [values[rank] for rank in range(self.count)]


def in_threads(count, work, host="127.0.0.1"):
    """What `work(team)` gives in each member of a team."""
    meeting, found, errors = ({}, threading.Barrier(count)), {}, []

    def run(rank):
        try:
            team = Team(Thread(rank, count, meeting, host))
            try:
                found[rank] = work(team)
            finally:
                team.close()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(count)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    if errors:
        raise errors[0]
    return [found[rank] for rank in range(count)]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2"])
@pytest.mark.parametrize("count", [2, 3, 5])
def test_everybody_gets_what_everybody_sent(count, host):
    """Blocks of 0 bytes to 3 MB, more than the buffers of a socket hold, in both directions at once."""

    def block(of, to, size):
        return np.random.default_rng([of, to]).bytes(size * (1 + of + 2 * to))

    def work(team):
        sums = []
        for size in (0, 1, 7, 300_000):
            others = [rank for rank in range(team.count) if rank != team.rank]
            came = {rank: bytearray(size * (1 + rank + 2 * team.rank)) for rank in others}
            out = {rank: memoryview(block(team.rank, rank, size)) for rank in others}
            team.exchange(out, {rank: memoryview(one) for rank, one in came.items()})
            sums.append(all(came[rank] == block(rank, team.rank, size) for rank in others))
        return sums

    assert in_threads(count, work, host) == [[True] * 4] * count


def test_strangers_are_hung_up_on_and_hold_nobody_up(monkeypatch):
    monkeypatch.setattr(collectives, "GREETING", 0.2)
    places, real = [], collectives._joined

    def late(place, secret, own, other):
        """Before a member joins: one who is silent, one who sends rubbish, one with another secret."""
        silent, rubbish = socket.create_connection(place), socket.create_connection(place)
        rubbish.sendall(bytes(200))
        places.append((silent, rubbish))
        with pytest.raises(ConnectionError):
            real(place, b"x" * 32, own, other)
        return real(place, secret, own, other)

    monkeypatch.setattr(collectives, "_joined", late)

    def work(team):
        other, came = 1 - team.rank, bytearray(3)
        team.exchange({other: memoryview(b"yes")}, {other: memoryview(came)})
        return bytes(came)

    assert in_threads(2, work) == [b"yes", b"yes"]
    for one in places[0]:
        one.settimeout(5)
        with suppress(ConnectionError):
            while one.recv(1000):
                pass  # what was sent before it hung up
        one.close()


def test_a_member_does_not_trust_a_stranger_that_listens(monkeypatch):
    """Who listens at the place of a member without the secret gets no data."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = server.getsockname()

        def answer():
            wire, _ = server.accept()
            with wire:
                wire.recv(1000)
                wire.sendall(bytes(64))
                seen.append(wire.recv(1000))

        seen = []
        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(ConnectionError, match="not a worker of this job"):
            collectives._joined(place, b"s" * 32, 1, 0)
        thread.join(10)
        assert seen == [b""]


def test_members_that_do_not_come_are_an_error(monkeypatch):
    monkeypatch.setattr(collectives, "TOGETHER", 0.2)
    alone = SimpleNamespace(rank=0, count=2, address=lambda: "127.0.0.1", gather=lambda value: [value] * 2)
    with pytest.raises(ConnectionError, match="1 of 2 workers connected within"):
        Team(alone)


def test_a_member_that_goes_is_an_error():
    def work(team):
        if team.rank == 1:
            return "left"
        with pytest.raises(ConnectionError, match=r"worker 2 of 2 disconnected|reset"):
            team.exchange({1: memoryview(bytes(10))}, {1: memoryview(bytearray(10))})
        return "noticed"

    assert in_threads(2, work) == ["noticed", "left"]


@pytest.mark.parametrize("count", [2, 3])
def test_sums_and_gathers_as_lightgbm_asks_for_them(count):
    """Through the C functions that LightGBM is given, beside NumPy; an output may lie over its input."""

    def add(given, to, kind, size):
        a, b = (np.frombuffer((ctypes.c_char * size).from_address(at), np.float64) for at in (given, to))
        np.add(a, b, out=b)

    reducer = collectives._Reduce(add)
    lengths = [8 * (2 + rank) for rank in range(count)]
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    c_lengths, c_starts = (ctypes.c_int * count)(*lengths), (ctypes.c_int * count)(*starts.tolist())
    given = [np.random.default_rng(rank).normal(size=sum(lengths) // 8) for rank in range(count)]

    def work(team):
        scatter = collectives._ReduceScatter(collectives._reduce_scatter(team))
        gather = collectives._Allgather(collectives._allgather(team))
        mine, out = given[team.rank].copy(), np.zeros(sum(lengths) // 8)
        pointer = ctypes.pointer(ctypes.cast(reducer, ctypes.c_void_p))
        scatter(mine.ctypes.data, sum(lengths), 8, c_starts, c_lengths, count, out.ctypes.data, 8, pointer)
        gather(out.ctypes.data, 8, c_starts, c_lengths, count, out.ctypes.data, sum(lengths))
        return out

    found = in_threads(count, work)
    in_order = given[0]
    for one in given[1:]:
        in_order = in_order + one
    for one in found:
        assert np.array_equal(one, in_order)


@pytest.mark.parametrize(
    ("hosts", "address"), [(["10.0.0.1", "10.0.0.1"], "127.0.0.1"), (["10.0.0.1", "10.0.0.2"], "10.0.0.1")]
)
def test_ray_workers_of_one_machine_meet_on_loopback(monkeypatch, hosts, address):
    member = _ray._Member(0, 2, None)
    monkeypatch.setattr(_ray._Member, "gather", lambda self, value: hosts)
    monkeypatch.setattr(_ray, "require", lambda *_: SimpleNamespace(get_node_ip_address=lambda: hosts[0]))
    assert member.address() == address
