"""The requests of a connection as they are read: few lines in a head, and few pieces in a body."""

import re
from typing import Any

import h11

__all__ = ["BoundedRequests"]

LONGEST_HEAD = 32 << 10  # bytes
MOST_LINES = 200  # of a head, and of a trailer
MOST_PIECES = 1000  # of a body, and one more for each so many bytes:
PIECE = 512

_LAST_CHUNK = re.compile(rb"(\r?\n)?0+([^0-9A-Fa-f\n][^\n]*)?\n")

_Event = h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]


class BoundedRequests(h11.Connection):
    """A connection of a server that refuses what costs much more to read than to send.

    Every line of a head and every chunk of a body takes time in the one thread in which all requests are
    read, and a line may have four bytes, a chunk six.
    """

    def __init__(self) -> None:
        super().__init__(h11.SERVER, LONGEST_HEAD)
        self._pieces = self._bytes = 0
        self._after_chunk = self._in_trailer = False
        self._answer_head = b""

    def send(self, event: h11.Event) -> Any:
        """What is to be written for an event: the head of an answer goes with the first part of its body.

        So that an answer that comes whole is one packet, which the client reads at once.
        """
        written = super().send(event)
        if isinstance(event, h11.Response):
            self._answer_head = written or b""
            return b""
        head, self._answer_head = self._answer_head, b""
        return head + written if head and written is not None else written

    def next_event(self) -> _Event:
        if self.their_state is h11.IDLE:
            self._check_head()
        elif self._after_chunk:
            self._check_trailer()
        event: _Event = super().next_event()
        if isinstance(event, h11.Request):
            self._pieces = self._bytes = 0
            self._in_trailer = False
            self._after_chunk = any(name == b"transfer-encoding" for name, _ in event.headers)
        elif isinstance(event, h11.Data):
            self._after_chunk = event.chunk_end
            self._pieces += 1
            self._bytes += len(event.data)
            if self._pieces > MOST_PIECES + self._bytes // PIECE:
                raise h11.RemoteProtocolError("a body in too many pieces", 400)
        return event

    def _check_head(self) -> None:
        head, _ = self.trailing_data
        _check_lines("a head", head)

    def _check_trailer(self) -> None:
        """The lines behind the last chunk, if that is what comes next."""
        left, _ = self.trailing_data
        if not self._in_trailer:
            last = _LAST_CHUNK.match(left)
            if last is None:
                return
            self._in_trailer, left = True, left[last.end() :]
        if not left.startswith(b"\r\n"):
            _check_lines("a trailer", left)


def _check_lines(what: str, lines: bytes) -> None:
    """Refuse lines before they are looked at one by one."""
    end = lines.find(b"\r\n\r\n")
    if lines.count(b"\n", 0, end if end >= 0 else len(lines)) > MOST_LINES:
        raise h11.RemoteProtocolError(f"{what} of too many lines", 431)
