"""Features through OpenSearch's learning-to-rank plugin: what is sent and what is read, without a cluster."""

import copy

import numpy as np
import pytest

import rankloop as rl
from engines.shop import FIELDS
from rankloop.engines import Unsupported
from rankloop.engines.remote.opensearch_models import OpenSearchModels
from rankloop.engines.requests.opensearch_sltr import feature_set, features_request
from rankloop.search import Features, Index
from rankloop.search.field import read_fields
from rankloop.search.index.snapshot import Manifest
from rankloop.search.text.analyser import Analyser

SCHEMA = Manifest(read_fields(FIELDS), Analyser())
NAMES = ("bm25(title)", "boolean(body)", "phrase(title)", "length(body)", "value(price)")
ALONE = ("window(title)", "lm_dirichlet(body)", "covered(title)", "query_length", "bm25(*)")


class Plugin:
    """A cluster with the plugin, as far as feature sets go: it keeps them, and logs what it is told to."""

    address = "opensearch://fake:9200/shop"

    def __init__(self):
        self.sets, self.stores, self.calls, self.values = {}, [], [], {}

    def index(self, path=""):
        return f"/shop{path}"

    def call(self, method, path, body=None, *, absent=None, **params):
        self.calls.append((method, path, copy.deepcopy(body), params))
        name = path.removeprefix("/_ltr/_featureset/").partition("/")[0]
        if (method, path) == ("GET", "/_ltr"):
            return {"stores": {one: {} for one in self.stores}}
        if (method, path) == ("PUT", "/_ltr"):
            self.stores.append("_default_")
        elif path.endswith("/_addfeatures"):
            self.sets[name] += body["features"]
        elif method == "PUT":
            self.sets[name] = body["featureset"]["features"]
        elif method == "GET":
            if name not in self.sets:
                return absent
            return {"_source": {"featureset": {"name": name, "features": self.sets[name]}}}
        elif path == "/shop/_search":
            return {"hits": {"hits": [self.hit(id, body) for id in self.values if id in wanted(body)]}}
        return {}

    def hit(self, id, body):
        sltr = body["query"]["bool"]["filter"][1]["sltr"]
        spec = body["ext"]["ltr_log"]["log_specs"][0]
        assert spec["named_query"] == sltr["_name"]
        entries = [
            {"name": one["name"]}
            | ({"value": self.values[id][one["name"]]} if one["name"] in self.values[id] else {})
            for one in self.sets[sltr["featureset"]]
        ]
        return {"_id": id, "fields": {"_ltrlog": [{spec["name"]: entries}]}}


def wanted(body):
    return body["query"]["bool"]["filter"][0]["ids"]["values"]


def test_a_request_only_logs():
    assert features_request("set", "red shoes", ["7", "8"], "mine") == {
        "size": 2,
        "_source": False,
        "query": {
            "bool": {
                "filter": [
                    {"ids": {"values": ["7", "8"]}},
                    {
                        "sltr": {
                            "_name": "log",
                            "featureset": "set",
                            "params": {"text": "red shoes"},
                            "store": "mine",
                        }
                    },
                ]
            }
        },
        "ext": {"ltr_log": {"log_specs": [{"name": "log", "named_query": "log", "missing_as_zero": False}]}},
    }


def test_a_set_says_what_the_plugin_computes():
    made = feature_set([*NAMES, *ALONE], SCHEMA, lengths=True)
    assert tuple(one["name"] for one in made) == NAMES
    assert made[0] == {
        "name": "bm25(title)",
        "params": ["text"],
        "template_language": "mustache",
        "template": {"bool": {"filter": [{"match_all": {}}], "should": [{"match": {"title": "{{text}}"}}]}},
    }
    assert "length(body)" not in [one["name"] for one in feature_set(NAMES, SCHEMA, lengths=False)]


def test_features_are_declared_once_and_logged():
    plugin = Plugin()
    models = OpenSearchModels(plugin)
    assert models.declare([*NAMES[:2], *ALONE], SCHEMA) == NAMES[:2]
    assert models.declare(NAMES, SCHEMA) == NAMES
    assert [path for method, path, _, _ in plugin.calls if method in ("PUT", "POST")] == [
        "/_ltr",
        "/_ltr/_featureset/rankloop",
        "/_ltr/_featureset/rankloop/_addfeatures",
    ]
    assert models.declare(NAMES[::-1], SCHEMA) == NAMES[::-1]
    assert len(plugin.sets["rankloop"]) == len(NAMES)
    plugin.values = {
        "7": dict(zip(NAMES, (1.5, 0.0, 1.0, 12.0, 80.0), strict=True)),
        "9": {"bm25(title)": 2.5},  # a document without a price
    }
    found = models.features("red shoes", ["9", "nope", "7"], ["value(price)", "bm25(title)"])
    np.testing.assert_array_equal(
        found.values, np.array([[np.nan, 2.5], [np.nan] * 2, [80, 1.5]], np.float32)
    )
    assert found.names == ("value(price)", "bm25(title)")
    assert models.features("red", ["7"]).names == NAMES
    assert models.features("red", []).values.shape == (0, len(NAMES))
    with pytest.raises(Unsupported, match=r"window\(title\) is not in the feature set 'rankloop'"):
        models.features("red", ["7"], ["window(title)"])


def test_a_name_that_means_something_else_is_an_error():
    plugin = Plugin()
    models = OpenSearchModels(plugin)
    models.declare(NAMES, SCHEMA)
    plugin.sets["rankloop"][0]["template"] = {"match": {"body": "{{text}}"}}
    with pytest.raises(ValueError, match=r"another feature 'bm25\(title\)' in the set 'rankloop'"):
        models.declare(NAMES, SCHEMA)


def test_features_say_which_are_alone(tmp_path):
    def cheap(found):
        return found.numbers("price") < 100

    features = Features([*NAMES, "window(title)", cheap])

    class Engine:
        def computes(self, names):
            return tuple(one["name"] for one in feature_set(names, SCHEMA, lengths=True))

    assert features.alone(Engine()) == ("window(title)", "cheap")
    Index.create(tmp_path / "shop.index", fields=FIELDS)
    embedded = rl.engines.open(tmp_path / "shop.index")
    assert features.alone(embedded) == ("cheap",)
    assert Features(NAMES).alone(embedded) == ()
