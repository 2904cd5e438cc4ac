"""The requests of a connection as they are read: few lines in a head, and few pieces in a body."""

import h11

__all__ = ["BoundedRequests"]

LONGEST_HEAD = 32 << 10  # bytes
MOST_LINES = 200  # of a head
MOST_PIECES = 1000  # of a body, and one more for each so many bytes:
PIECE = 512

_Event = h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]


class BoundedRequests(h11.Connection):
    """A connection of a server that refuses what costs much more to read than to send.

    Every line of a head and every chunk of a body takes time in the one thread in which all requests are
    read, and a line may have four bytes, a chunk six.
    """

    def __init__(self) -> None:
        super().__init__(h11.SERVER, LONGEST_HEAD)
        self._pieces = self._bytes = 0

    def next_event(self) -> _Event:
        if self.their_state is h11.IDLE:
            self._check_head()
        event: _Event = super().next_event()
        if isinstance(event, h11.Request):
            self._pieces = self._bytes = 0
        elif isinstance(event, h11.Data):
            self._pieces += 1
            self._bytes += len(event.data)
            if self._pieces > MOST_PIECES + self._bytes // PIECE:
                raise h11.RemoteProtocolError("a body in too many pieces", 400)
        return event

    def _check_head(self) -> None:
        """Refuse a head before its lines are looked at one by one."""
        head, _ = self.trailing_data
        end = head.find(b"\r\n\r\n")
        if head.count(b"\n", 0, end if end >= 0 else len(head)) > MOST_LINES:
            raise h11.RemoteProtocolError("a head of too many lines", 431)
