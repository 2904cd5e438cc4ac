"""What deploy/compose.yaml does, as processes: PostgreSQL, OpenSearch, the index, two workers, a proxy."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from serve.postgres_server import Postgres, postgres_programs
from serve.running import wait_until

yaml = pytest.importorskip("yaml", reason="compose.yaml is parsed with PyYAML")
pytest.importorskip("psycopg", reason="no psycopg; install rankloop[postgres]")
pytestmark = [pytest.mark.timeout(300), pytest.mark.slow]  # it starts a cluster, and two workers

DEPLOY = Path(__file__).parents[2] / "deploy"
SECRETS = {
    "RANKLOOP_ADMIN_TOKEN": "a token of the tests",
    "POSTGRES_PASSWORD": "trusted",
    "RANKLOOP_KEYS": "",
}
ADMIN = {"Authorization": f"Bearer {SECRETS['RANKLOOP_ADMIN_TOKEN']}"}


def filled(text, here):
    """A value of compose.yaml with its variables, and addresses of this machine in place of containers'."""
    text = re.sub(r"\$\{([A-Z_]+)[^}]*\}", lambda found: SECRETS[found[1]], text)
    for there, mine in here.items():
        text = text.replace(there, mine)
    return text


@pytest.fixture
def here(opensearch, tmp_path):
    """What the names of containers and their folders are on this machine."""
    programs = postgres_programs()
    if programs is None:
        pytest.skip("no PostgreSQL server (initdb, pg_ctl) in PATH or /usr/lib/postgresql; install one")
    index = f"compose-{os.getpid()}"
    address, _, _ = opensearch.url(index).partition("?")
    with Postgres(programs) as server:
        database = server.database()
        where = database.split("@", 1)[1]
        yield {
            "opensearch://opensearch:9200/shop": address,
            "@postgres:5432/rankloop": f"@{where}",
            "/data": str(tmp_path / "data"),
            "/import": str(tmp_path),
            "/etc/rankloop": str(tmp_path),
            "0.0.0.0": "127.0.0.1",
        }


def test_the_steps_of_the_compose_file(here, tmp_path):
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    (tmp_path / "shop.toml").write_text(filled((DEPLOY / "shop.toml").read_text(), here))
    (tmp_path / "products.jsonl").write_text(
        "".join(
            json.dumps({"id": f"p{n}", "title": f"red shoes {n}", "brand": "Hare", "price": n}) + "\n"
            for n in range(50)
        )
    )
    environment = os.environ | {
        name: filled(value, here) for name, value in services["rankloop"]["environment"].items()
    }
    program = [sys.executable, "-m", "rankloop"]
    command = [filled(word, here) for word in services["index"]["command"]]
    done = subprocess.run(
        [*program, *command], env=environment, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "50 documents added" in done.stdout
    command = [filled(word, here) for word in services["rankloop"]["command"]]
    command[command.index("--port") + 1] = "0"
    log = tmp_path / "log.txt"
    with log.open("w") as out:
        started = subprocess.Popen(
            [*program, *command], env=environment, stdout=out, stderr=subprocess.STDOUT
        )
        try:
            wait_until(lambda: "page  " in log.read_text() or started.poll() is not None, seconds=120)
            address = re.search(r"page\s+(\S+)", log.read_text())
            assert address, log.read_text()
            use(f"{address[1].rstrip('/')}/shop", log)
        finally:
            started.send_signal(signal.SIGTERM)
            assert started.wait(timeout=60) in (0, -signal.SIGTERM)
    assert "Traceback" not in log.read_text()


def use(address, log):
    """What a shop does in its first minutes; nginx would pass these requests on as they are."""
    with httpx.Client(timeout=60, headers={"X-Forwarded-For": "192.0.2.7"}) as client:
        wait_until(lambda: client.get(f"{address}/ready").status_code == 200, seconds=120)
        page = client.post(f"{address}/search", json={"query": "red shoes"}).raise_for_status().json()
        assert page["found"] == 50
        document = {"title": "purple umbrella", "price": 5}
        client.put(f"{address}/documents/u1", json=document, headers=ADMIN).raise_for_status()

    def everywhere():
        """Each connection may reach another worker."""
        for _ in range(6):
            with httpx.Client(timeout=60) as one:
                found = one.post(f"{address}/search", json={"query": "umbrella", "record": False}).json()
                if [result["id"] for result in found["results"]] != ["u1"]:
                    return False
        return True

    wait_until(everywhere, seconds=10)
    assert 'href="/shop/' in httpx.get(f"{address}/").text
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    assert {"/search", "/documents/{id:path}"} <= {line["route"] for line in lines}
    assert "umbrella" not in log.read_text()
