"""Who can reach the workers of a job: nobody, or those that the user admits."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from rankloop.cluster.backends import ray as _ray
from rankloop.cluster.backends.local import Local
from rankloop.cluster.training.trees import _network

LISTEN = "0A"  # the state of a socket in /proc/net/tcp


def listening(argument, member):
    """The sockets on which this worker listens, once all members have begun."""
    member.gather(member.rank)
    own = {os.readlink(one) for one in Path("/proc/self/fd").iterdir() if one.is_symlink() and one.exists()}
    found = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            place, state, inode = (line.split()[at] for at in (1, 3, 9))
            if state == LISTEN and f"socket:[{inode}]" in own:
                found.append(place)
    return member.gather(found)


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="sockets are looked up in /proc")
def test_local_workers_listen_nowhere():
    assert Local(2).together(listening, None, lambda by, note="": None) == [[], []]


def member_of(*machines):
    return SimpleNamespace(network=lambda: {"machines": ",".join(machines)})


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1"])
def test_lightgbm_between_loopback_addresses_is_allowed(host):
    assert _network(member_of(f"{host}:1", f"{host}:2"), exposed=False)["machines"]


def test_lightgbm_between_machines_has_to_be_asked_for():
    team = member_of("10.0.0.1:12400", "10.0.0.2:12400", "127.0.0.1:12401")
    with pytest.raises(ValueError, match=r"every address of 10\.0\.0\.1, 10\.0\.0\.2.*exposed=True"):
        _network(team, exposed=False)
    assert _network(team, exposed=True) == team.network()


@pytest.mark.parametrize(
    ("hosts", "machines"),
    [
        (["10.0.0.1", "10.0.0.1"], "127.0.0.1:1,127.0.0.1:2"),
        (["10.0.0.1", "10.0.0.2"], "10.0.0.1:1,10.0.0.2:2"),
    ],
)
def test_ray_workers_of_one_machine_meet_on_loopback(monkeypatch, hosts, machines):
    member = _ray._Member(0, 2, None)
    ports = [(host, number) for number, host in enumerate(hosts, start=1)]
    monkeypatch.setattr(_ray._Member, "gather", lambda self, value: ports)
    monkeypatch.setattr(_ray, "require", lambda *_: SimpleNamespace(get_node_ip_address=lambda: hosts[0]))
    assert member.network()["machines"] == machines
