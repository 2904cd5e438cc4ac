"""Two services on one OpenSearch and one PostgreSQL: one truth, and either may be killed."""

import os

import pytest

from engines.shop import FIELDS, documents
from rankloop.engines import OpenSearch
from serve.postgres_server import Postgres, postgres_programs
from serve.two_services import check_one_service

pytest.importorskip("psycopg", reason="no psycopg; install rankloop[postgres]")


@pytest.fixture(scope="module")
def postgres():
    programs = postgres_programs()
    if programs is None:
        pytest.skip("no PostgreSQL server (initdb, pg_ctl) in PATH or /usr/lib/postgresql; install one")
    with Postgres(programs) as server:
        yield server


@pytest.mark.timeout(240)
def test_two_processes_are_one_service(opensearch, postgres, tmp_path):
    address = opensearch.url(f"rankloop-two-{os.getpid()}", shards=3, replicas=1)
    engine = OpenSearch.create(address, {name: kind for name, kind in FIELDS.items() if name != "look"})
    try:
        engine.add({key: one[key] for key in one if key != "look"} for one in documents())
        check_one_service(tmp_path, postgres.database(), address)
    finally:
        engine.client.call("DELETE", engine.client.index())
