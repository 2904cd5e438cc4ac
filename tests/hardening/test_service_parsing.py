"""Requests that cost much more to read than to send, and crowds of connections that all ask something."""

import http.cookies
import socket

import h11
import httpx
import pytest

from hardening.test_service_requests import Wire, address
from rankloop.serve.config import Limits
from rankloop.serve.http.bounded_requests import MOST_LINES, MOST_PIECES, BoundedRequests
from rankloop.serve.http.connections import OpenConnections
from serve.running import client_of

POST = b"POST /search HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
ASKED = b'10\r\n{"query": "red"}\r\n'
GET = b"GET /health HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    with client_of(tmp_path_factory.mktemp("shop"), limits=Limits(rate=0)) as (client, _):
        yield client


def sent(client, *parts):
    """What comes back until the other side hangs up."""
    with socket.create_connection(address(client), timeout=20) as wire:
        got = b""
        try:
            for part in parts:
                wire.sendall(part)
            while more := wire.recv(65_536):
                got += more
        except ConnectionError:  # it hung up before it read everything
            pass
        return got


def test_a_body_of_tiny_chunks_is_given_up(shop):
    got = sent(shop, CHUNKED + ASKED + b"1\r\n \r\n" * 200_000 + b"0\r\n\r\n")
    assert got.startswith(b"HTTP/1.1 400") or not got
    assert shop.get("/health").status_code == 200


def test_a_body_of_ordinary_chunks_is_read(shop):
    chunks = b"400\r\n" + b" " * 1024 + b"\r\n"
    end = b"0\r\n\r\n" + GET + b"Connection: close\r\n\r\n"
    got = sent(shop, CHUNKED + ASKED + chunks * 200 + b"1\r\n \r\n" * 500 + end)
    assert got.count(b"HTTP/1.1 200") == 2


@pytest.mark.parametrize("before", [b"", GET + b"\r\n"], ids=["the first request", "the second"])
def test_a_head_of_very_many_lines_is_refused(shop, before):
    got = sent(shop, before + GET + b"a:\r\n" * 3000 + b"\r\n")
    assert got.count(b"HTTP/1.1 400") == 1
    assert got.count(b"HTTP/1.1 200") == bool(before)


def test_a_head_of_many_lines_is_read(shop):
    lines = b"".join(b"x-%d: y\r\n" % at for at in range(MOST_LINES - 10))
    assert sent(shop, GET + lines + b"Connection: close\r\n\r\n").startswith(b"HTTP/1.1 200")


TRAILER = b"0\r\n" + b"a:\r\n" * 5000 + b"\r\n"


@pytest.mark.parametrize("size", [1, 7, 1000, 16 << 10, 1 << 20])
def test_a_trailer_of_very_many_lines_is_refused(size):
    """It stands behind a body in chunks, and its lines cost as much to read as those of a head."""
    requests, whole = BoundedRequests(), CHUNKED + ASKED + TRAILER

    def read():
        for at in range(0, len(whole), size):
            requests.receive_data(whole[at : at + size])
            while requests.next_event() is not h11.NEED_DATA:
                pass

    with pytest.raises(h11.RemoteProtocolError, match="too many lines"):
        read()


def test_the_service_refuses_such_a_trailer(shop):
    assert not sent(shop, CHUNKED + ASKED + TRAILER).startswith(b"HTTP/1.1 200")
    few = b"0\r\n" + b"a: b\r\n" * 100 + b"\r\n"
    more = GET + b"x: y\r\n" * 150 + b"Connection: close\r\n\r\n"
    assert sent(shop, CHUNKED + ASKED + few + more).count(b"HTTP/1.1 200") == 2


@pytest.mark.parametrize("size", [7, 100, 1 << 20])
def test_a_body_in_chunks_may_look_like_a_trailer(size):
    """Lines within a chunk are no lines of a trailer; those of the next request are not counted to it."""
    lines = b"0\r\n" + b"a:\r\n" * 1000
    body = b"%x\r\n%b\r\n" % (len(lines), lines)
    requests, read = BoundedRequests(), b""
    whole = CHUNKED + body + b"0\r\n\r\n" + GET + b"a: b\r\n" * (MOST_LINES - 5) + b"\r\n"
    for at in range(0, len(whole), size):
        requests.receive_data(whole[at : at + size])
        while not isinstance(event := requests.next_event(), type):
            read += bytes(event.data) if isinstance(event, h11.Data) else b""
            if isinstance(event, h11.EndOfMessage):
                break
    assert read == lines
    assert requests.their_state is h11.DONE


def test_a_body_may_have_more_lines_than_a_head(shop):
    body = b'{"query":' + b"\n" * 5000 + b'"red"}'
    head = POST + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
    assert sent(shop, head + body).startswith(b"HTTP/1.1 200")


def test_nonsense_after_an_answer_that_came_early(shop, caplog):
    with socket.create_connection(address(shop), timeout=20) as wire:
        wire.sendall(b"PUT /documents HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        assert wire.recv(12).startswith(b"HTTP/1.1 401")
        wire.sendall(b"nonsense\r\n")
        try:
            while wire.recv(65_536):
                pass
        except ConnectionError:
            pass
    assert shop.get("/health").status_code == 200
    assert "data_received() call failed" not in caplog.text


def test_pieces_count_for_each_request():
    requests = BoundedRequests()
    for _ in range(3):
        requests.receive_data(CHUNKED + b"1\r\n \r\n" * (MOST_PIECES - 1) + b"0\r\n\r\n")
        assert isinstance(requests.next_event(), h11.Request)
        while not isinstance(requests.next_event(), h11.EndOfMessage):
            pass
        requests.send(h11.Response(status_code=200, headers=[("Content-Length", "0")]))
        requests.send(h11.EndOfMessage())
        requests.start_next_cycle()


def test_those_who_only_listen_are_not_closed_for_a_crowd_that_asks():
    """A crowd that never stops asking once had the idle connections of all others closed."""
    opened = OpenConnections(most=10, header_seconds=1.0)
    idle, crowd = [Wire() for _ in range(3)], [Wire(asked=True) for _ in range(7)]
    for at, one in enumerate(idle):
        opened.add(one, f"198.51.{at}.0/24")
    for one in crowd:
        opened.add(one, "192.0.2.0/24")
    another, late = Wire(), Wire(asked=True)
    opened.add(another, "203.0.113.0/24")
    assert [one.hung_up for one in crowd] == [True] + [False] * 6
    opened.remove(crowd[0], "192.0.2.0/24")
    opened.add(late, "192.0.2.0/24")
    assert not any(one.hung_up for one in (*idle, another, *crowd[1:]))
    assert late.hung_up


@pytest.mark.parametrize("path", [b"/", b"/?q=red", b"/login", b"/static/page.css", b"/health"])
def test_no_value_in_quotation_marks_is_unquoted(shop, monkeypatch, path):
    """Python before 3.11.10 takes the square of its length: 30 kB stopped the service for seconds."""
    seen = []
    unquote = http.cookies._unquote
    monkeypatch.setattr(http.cookies, "_unquote", lambda text: seen.append(text) or unquote(text))
    cookies = b'Cookie: a=%b; rankloop_user="%b"; rankloop_pages=1:2:3\r\n'
    quoted = b"\\\\" * 1000
    got = sent(
        shop,
        b"GET %b HTTP/1.1\r\nHost: x\r\n" % path + cookies % (quoted, quoted) + b"Connection: close\r\n\r\n",
    )
    assert got.startswith(b"HTTP/1.1 200")
    assert set(seen) <= {"1:2:3"}


def test_cookies_of_this_service_are_read(shop):
    first = shop.get("/?q=red", headers={"user-agent": "Mozilla/5.0"})
    number = first.cookies["rankloop_user"]
    again = httpx.get(
        shop.base_url.join("/?q=hat"),
        headers={"user-agent": "Mozilla/5.0", "cookie": f'other="x"; rankloop_user={number}; theirs=1'},
    )
    assert "rankloop_user" not in again.cookies


@pytest.mark.parametrize("method", [b"GET", b"HEAD"])
def test_the_head_of_an_answer_goes_with_its_body(method):
    """One packet where the answer comes whole; the bytes are those of h11, of each answer of a connection."""
    plain, ours = h11.Connection(h11.SERVER), BoundedRequests()
    for requests in (plain, ours):
        requests.receive_data(2 * (method + b" / HTTP/1.1\r\nHost: x\r\n\r\n"))
    for status in (200, 204):
        body = b"" if method == b"HEAD" or status == 204 else b"text"
        answer = [h11.Response(status_code=status, headers=[("a", "b"), ("content-length", str(len(body)))])]
        answer += [h11.Data(body), h11.EndOfMessage()]
        written = []
        for requests in (plain, ours):
            assert isinstance(requests.next_event(), h11.Request)
            assert isinstance(requests.next_event(), h11.EndOfMessage)
            written.append([bytes(requests.send(one)) for one in answer])
            requests.start_next_cycle()
        assert written[1][0] == written[1][2] == b""
        assert written[1][1] == b"".join(written[0])
