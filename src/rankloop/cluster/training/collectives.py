"""LightGBM's sums over a team, by sockets of our own.

LightGBM's sockets listen on every address of a machine and trust any client. These listen on the chosen
address alone, until all members are there, and a member proves that it knows the secret of the job.
"""

import ctypes
import hmac
import os
import secrets
import selectors
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from importlib import import_module
from ipaddress import ip_address
from typing import Any

from rankloop.cluster.backends.backend import Member

__all__ = ["Team", "lightgbm_team"]

TOGETHER = 120.0  # seconds in which all members must have connected
GREETING = 5.0  # seconds for a stranger to prove that it is a member
SILENCE = 3600.0  # seconds without a byte after which the others count as lost
_NONCE = 32

_Reduce = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int)
_Sizes = ctypes.POINTER(ctypes.c_int)
_ReduceScatter = ctypes.CFUNCTYPE(
    None,
    ctypes.c_void_p,
    ctypes.c_int,
    ctypes.c_int,
    _Sizes,
    _Sizes,
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_int,
    ctypes.POINTER(ctypes.c_void_p),
)
_Allgather = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_int, _Sizes, _Sizes, ctypes.c_int, ctypes.c_void_p, ctypes.c_int
)


class Team:
    """A connection to every other member; all members make and use it in the same order."""

    def __init__(self, member: Member) -> None:
        self.rank, self.count = member.rank, member.count
        self.wires: dict[int, socket.socket] = {}
        host = member.address()
        family = socket.AF_INET6 if ip_address(host).version == 6 else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as listening:
            listening.bind((host, 0))
            listening.listen(member.count + 16)
            secret = secrets.token_bytes(_NONCE) if self.rank == 0 else b""
            places = member.gather((secret, host, listening.getsockname()[1]))
            secret = places[0][0]
            try:
                for rank in range(self.rank):
                    self.wires[rank] = _joined(places[rank][1:], secret, self.rank, rank)
                self._accept(listening, secret)
            except BaseException:
                self.close()
                raise

    def close(self) -> None:
        for wire in self.wires.values():
            wire.close()
        self.wires.clear()

    def exchange(self, out: Mapping[int, memoryview], into: Mapping[int, memoryview]) -> None:
        """Send to and receive from the members, all at the same time; both sides know the sizes."""
        sending = {rank: view for rank, view in out.items() if len(view)}
        receiving = {rank: view for rank, view in into.items() if len(view)}
        with selectors.DefaultSelector() as waiting:
            for rank in sending.keys() | receiving.keys():
                waiting.register(self.wires[rank], _wanted(rank, sending, receiving), rank)
            while sending or receiving:
                ready = waiting.select(SILENCE)
                if not ready:
                    raise ConnectionError(f"no other worker sent anything for {SILENCE:g} seconds")
                for key, events in ready:
                    rank, wire = key.data, self.wires[key.data]
                    if events & selectors.EVENT_READ:
                        got = wire.recv_into(receiving[rank])
                        if not got:
                            raise ConnectionError(f"worker {rank + 1} of {self.count} disconnected")
                        _advance(receiving, rank, got)
                    if events & selectors.EVENT_WRITE:
                        _advance(sending, rank, wire.send(sending[rank]))
                    wanted = _wanted(rank, sending, receiving)
                    if not wanted:
                        waiting.unregister(wire)
                    elif wanted != key.events:
                        waiting.modify(wire, wanted, rank)

    def _accept(self, listening: socket.socket, secret: bytes) -> None:
        """Connections of the members of higher rank; others are disconnected."""
        end = time.monotonic() + TOGETHER
        while len(self.wires) < self.count - 1:
            listening.settimeout(max(0.01, end - time.monotonic()))
            try:
                wire, _ = listening.accept()
            except TimeoutError:
                here = len(self.wires) + 1
                raise ConnectionError(
                    f"{here} of {self.count} workers connected within {TOGETHER:g} s"
                ) from None
            with suppress(OSError, ValueError):
                rank = _greeted(wire, secret, self.rank)
                if self.rank < rank < self.count and rank not in self.wires:
                    self.wires[rank] = wire
                    continue
            wire.close()


def _advance(views: dict[int, memoryview], rank: int, by: int) -> None:
    views[rank] = views[rank][by:]
    if not len(views[rank]):
        del views[rank]


def _wanted(rank: int, sending: Mapping[int, memoryview], receiving: Mapping[int, memoryview]) -> int:
    write = selectors.EVENT_WRITE if rank in sending else 0
    return write | (selectors.EVENT_READ if rank in receiving else 0)


def _joined(place: tuple[str, int], secret: bytes, own: int, other: int) -> socket.socket:
    """A connection to a member of lower rank, once each has proved to the other that it has the secret."""
    wire = socket.create_connection(place, timeout=TOGETHER)
    nonce = secrets.token_bytes(_NONCE)
    wire.sendall(struct.pack("<i", own) + nonce)
    answer = _received(wire, 2 * _NONCE)
    theirs = answer[:_NONCE]
    if not hmac.compare_digest(answer[_NONCE:], _proof(secret, other, own, nonce)):
        wire.close()
        raise ConnectionError(f"the process at {place[0]}:{place[1]} is not a worker of this job")
    wire.sendall(_proof(secret, own, other, theirs))
    return _settled(wire)


def _greeted(wire: socket.socket, secret: bytes, own: int) -> int:
    """The rank of the member that connected; a ValueError where it has not the secret."""
    wire.settimeout(GREETING)
    first = _received(wire, 4 + _NONCE)
    rank, nonce = struct.unpack("<i", first[:4])[0], secrets.token_bytes(_NONCE)
    wire.sendall(nonce + _proof(secret, own, rank, first[4:]))
    if not hmac.compare_digest(_received(wire, _NONCE), _proof(secret, rank, own, nonce)):
        raise ValueError("not a worker of this job")
    _settled(wire)
    return int(rank)


def _proof(secret: bytes, who: int, to: int, nonce: bytes) -> bytes:
    return hmac.digest(secret, struct.pack("<ii", who, to) + nonce, sha256)


def _received(wire: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        piece = wire.recv(size - len(found))
        if not piece:
            raise ConnectionError("the connection was closed during the handshake")
        found += piece
    return found


def _settled(wire: socket.socket) -> socket.socket:
    wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    wire.setblocking(False)
    return wire


@contextmanager
def lightgbm_team(member: Member) -> Iterator[dict[str, Any]]:
    """The parameters with which LightGBM trains together in this thread, while the block runs; alone none."""
    if member.count == 1:
        yield {}
        return
    library = import_module("lightgbm.basic")._LIB
    team = Team(member)
    functions = _ReduceScatter(_ending(_reduce_scatter(team))), _Allgather(_ending(_allgather(team)))
    pointers = [ctypes.cast(one, ctypes.c_void_p) for one in functions]
    if library.LGBM_NetworkInitWithFunctions(member.count, member.rank, *pointers):
        raise RuntimeError(library.LGBM_GetLastError().decode())
    try:
        yield {"num_machines": member.count, "tree_learner": "data", "pre_partition": True}
    finally:
        library.LGBM_NetworkFree()
        team.close()


def _reduce_scatter(team: Team) -> Callable[..., None]:
    """The sum over all members of this member's block of the input, added up in the order of ranks."""

    def reduce_scatter(
        given: int, size: int, kind: int, starts: Any, lengths: Any, blocks: int, to: int, room: int, add: Any
    ) -> None:
        whole, own = _view(given, size), lengths[team.rank]
        others = [rank for rank in range(team.count) if rank != team.rank]
        came = {rank: bytearray(own) for rank in others}
        out = {rank: whole[starts[rank] : starts[rank] + lengths[rank]] for rank in others}
        team.exchange(out, {rank: memoryview(one) for rank, one in came.items()})
        came[team.rank] = bytearray(whole[starts[team.rank] : starts[team.rank] + own])
        if own:
            reducer, sum_ = _Reduce(add[0]), (ctypes.c_char * own).from_buffer(came[0])
            for rank in range(1, team.count):
                reducer((ctypes.c_char * own).from_buffer(came[rank]), sum_, kind, own)
            ctypes.memmove(to, sum_, own)

    return reduce_scatter


def _allgather(team: Team) -> Callable[..., None]:
    """The blocks of all members, each at its place in the output."""

    def allgather(given: int, size: int, starts: Any, lengths: Any, blocks: int, to: int, room: int) -> None:
        own = ctypes.string_at(given, lengths[team.rank])  # a copy: the output may lie over the input
        whole = _view(to, room)
        others = [rank for rank in range(team.count) if rank != team.rank]
        into = {rank: whole[starts[rank] : starts[rank] + lengths[rank]] for rank in others}
        team.exchange({rank: memoryview(own) for rank in others}, into)
        whole[starts[team.rank] : starts[team.rank] + len(own)] = own

    return allgather


def _view(address: int, size: int) -> memoryview:
    return memoryview((ctypes.c_char * size).from_address(address)).cast("B")


def _ending(work: Callable[..., None]) -> Callable[..., None]:
    """The same, but a failure ends the process: LightGBM cannot be stopped, and would go on with garbage."""

    def or_end(*given: Any) -> None:
        try:
            work(*given)
        except BaseException as error:
            print(f"this worker ends: {error}", file=sys.stderr, flush=True)
            os._exit(1)

    return or_end
