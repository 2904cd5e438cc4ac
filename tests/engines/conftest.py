"""Clusters of the tests, started when the first test needs one, or given by `RANKLOOP_..._URL`."""

import os

import pytest

from engines.clusters import Missing, OpenSearchCluster, SolrCluster

pytest.register_assert_rewrite("engines.counted_and_corrected")


class Given:
    """A cluster of the user's: an address without an index, as in opensearch://localhost:9200."""

    def __init__(self, address):
        self.address = address.rstrip("/")

    def url(self, index, **options):
        text = "&".join(f"{name}={value}" for name, value in options.items())
        return f"{self.address}/{index}" + (f"?{text}" if text else "")


def started(cluster, variable, folder):
    if os.environ.get(variable):
        yield Given(os.environ[variable])
        return
    try:
        with cluster(folder) as running:
            yield running
    except Missing as missing:
        pytest.skip(f"{missing}; or name a cluster with {variable}")


@pytest.fixture(scope="session")
def opensearch(tmp_path_factory):
    """An OpenSearch of three nodes."""
    pytest.importorskip("opensearchpy", reason="install rankloop[opensearch] to run this")
    yield from started(OpenSearchCluster, "RANKLOOP_OPENSEARCH_URL", tmp_path_factory.mktemp("opensearch"))


@pytest.fixture(scope="session")
def solr(tmp_path_factory):
    """A SolrCloud of two nodes with learning to rank."""
    yield from started(SolrCluster, "RANKLOOP_SOLR_URL", tmp_path_factory.mktemp("solr"))
