"""What clients do when an engine refuses, is slow, or is busy: a server of one thread that answers so."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from rankloop.engines import EngineAway
from rankloop.engines.remote.address import Address
from rankloop.engines.remote.credentials import Credentials
from rankloop.engines.remote.opensearch_client import OpenSearchClient
from rankloop.engines.remote.opensearch_documents import send
from rankloop.engines.remote.solr_client import SolrClient

SECRET = Credentials(user="ann", password="s3cret")


@pytest.fixture
def server():
    """Answers with what `server.answers` gives for each request in turn, the last one again and again."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            length = int(self.headers.get("content-length") or 0)
            body = self.rfile.read(length)
            found.requests.append(
                (self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            )
            at = min(len(found.requests), len(found.answers)) - 1
            status, answer, wait = found.answers[at]
            time.sleep(wait)
            text = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *given):
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, request, client_address):
            pass  # the client went away

    found = Server(("127.0.0.1", 0), Handler)
    found.requests, found.answers = [], [(200, {}, 0.0)]
    thread = threading.Thread(target=found.serve_forever, args=(0.05,))
    thread.start()
    yield found
    found.shutdown()
    thread.join()
    found.server_close()


def client(server, kind, **options):
    text = "&".join(f"{name}={value}" for name, value in options.items())
    address = Address.parse(f"{kind}://127.0.0.1:{server.server_address[1]}/shop?{text}")
    if kind == "solr":
        return SolrClient(address, SECRET)
    pytest.importorskip("opensearchpy")
    return OpenSearchClient(address, SECRET)


@pytest.mark.parametrize("kind", ["opensearch", "solr"])
@pytest.mark.parametrize("status", [401, 403])
def test_wrong_credentials(server, kind, status, caplog):
    server.answers = [(status, {"error": {"reason": "no permissions for user ann"}}, 0.0)]
    calls = client(server, kind)
    with pytest.raises(EngineAway, match="refuses the credentials") as told:
        calls.call("GET", "/x")
    assert server.requests[0][1]["authorization"].startswith("Basic ")
    assert calls.trouble == str(told.value)
    for secret in ("s3cret", "ann", "YW5uOnMzY3JldA"):
        assert secret not in str(told.value)
        assert secret not in caplog.text.replace("no permissions for user ann", "")
        assert secret not in repr(vars(calls.address))


@pytest.mark.parametrize("kind", ["opensearch", "solr"])
def test_a_time_limit(server, kind):
    server.answers = [(200, {}, 1.0)]
    calls = client(server, kind, timeout=0.1)
    start = time.monotonic()
    with pytest.raises(EngineAway, match=r"did not answer within 0\.1 seconds|does not answer"):
        calls.call("GET", "/x")
    assert time.monotonic() - start < 5
    server.answers = [(200, {"well": 1}, 0.0)]
    assert calls.call("GET", "/x") == {"well": 1}
    assert calls.trouble is None


def test_models_have_more_time_in_solr(server):
    """A reload reads all models again, on each node."""
    calls = client(server, "solr", timeout=0.1)
    server.answers = [(200, {"well": 1}, 0.5)]
    assert calls.call("GET", "/x", timeout=20) == {"well": 1}
    with pytest.raises(EngineAway, match="does not answer"):  # also on a connection that is kept
        calls.call("GET", "/x")


@pytest.mark.parametrize("kind", ["opensearch", "solr"])
@pytest.mark.parametrize(
    "answer", [b"<html>Welcome</html>", b"[" * 100_000, b"\xff\xfe", b'"text"', b"[1]", b"9" * 9000]
)
def test_an_answer_that_is_no_answer_of_an_engine(server, kind, answer):
    """A proxy or another program may be at its address; searches then go on as without the engine."""
    server.answers = [(200, answer, 0.0)]
    calls = client(server, kind)
    with pytest.raises(EngineAway, match=r"answers, but not as an engine does|does not answer") as told:
        calls.call("GET", "/x")
    assert calls.trouble == str(told.value)
    assert len(str(told.value)) < 300


@pytest.mark.parametrize("kind", ["opensearch", "solr"])
def test_a_busy_engine_is_asked_again(server, kind):
    server.answers = [(503, {}, 0.0), (200, {"well": 1}, 0.0)]
    assert client(server, kind).call("GET", "/x") == {"well": 1}
    server.requests.clear()
    server.answers = [(503, {}, 0.0)]
    with pytest.raises(EngineAway, match="is busy or broken"):
        client(server, kind).call("GET", "/x")


@pytest.mark.parametrize("kind", ["opensearch", "solr"])
def test_a_host_that_is_away_is_passed_over(server, kind):
    calls = client(server, kind)
    port = server.server_address[1]
    address = Address.parse(f"{kind}://127.0.0.1:1,127.0.0.1:{port}/shop")
    calls = (SolrClient if kind == "solr" else OpenSearchClient)(address, SECRET)
    server.answers = [(200, {"well": 1}, 0.0)]
    for _ in range(4):
        assert calls.call("GET", "/x") == {"well": 1}


def test_documents_that_are_put_off_are_sent_again(server, monkeypatch):
    monkeypatch.setattr("rankloop.engines.remote.opensearch_documents.time.sleep", lambda seconds: None)
    full = {"index": {"_id": "b", "status": 429, "error": {"reason": "full"}}}
    wrong = {
        "index": {"_id": "c", "status": 400, "error": {"reason": "no", "caused_by": {"reason": "price"}}}
    }
    good = {"index": {"_id": "a", "status": 201}}
    later = {"index": {"_id": "b", "status": 201}}
    server.answers = [(200, {"items": [good, full, wrong]}, 0.0), (200, {"items": [later]}, 0.0)]
    calls = client(server, "opensearch")
    assert send(calls, [("a", {}), ("b", {"x": 1}), ("c", {})]) == {"c": "no: price"}
    assert server.requests[1][2] == b'{"index":{"_id":"b"}}\n{"x":1}\n'
    server.answers = [(200, {"items": [full]}, 0.0)]
    with pytest.raises(EngineAway, match="too busy"):
        send(calls, [("b", {})])
