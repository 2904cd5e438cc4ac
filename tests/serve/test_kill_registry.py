"""kill -9 in the middle of registering and promoting: every version that can be seen is whole."""

import subprocess
import sys
import time

import rankloop as rl
from rankloop.serve.events.store import Store
from rankloop.serve.models.registry import Registry

WORKER = """
import sys
from rankloop.serve.models.registry import Registry
from rankloop.serve.events.store import Store

url, folder, file = sys.argv[1:]
registry = Registry(Store.open(url), folder)
while True:
    version = registry.register(file, lineage={"made": "here"})
    registry.promote(version)
    print(version, flush=True)
"""


def test_a_killed_registry_has_whole_versions_and_one_in_production(database, tmp_path):
    index = rl.Index.create(tmp_path / "shop.index", fields={"title": "text"})
    index.add([{"id": "a", "title": "red shoes"}, {"id": "b", "title": "blue shoes"}])
    index.commit()
    search = index.retriever(k=10) >> rl.Features(["bm25(title)"]) >> rl.LinearRanker(loss="ranknet")
    search.fit({"q": "red shoes"}, {"q": {"a": 1, "b": 0}}).save(tmp_path / "model.zip")
    arguments = [database, str(tmp_path / "models"), str(tmp_path / "model.zip")]
    worker = subprocess.Popen([sys.executable, "-c", WORKER, *arguments], stdout=subprocess.PIPE, text=True)
    assert worker.stdout.readline() == "v1\n"
    time.sleep(0.4)
    worker.kill()
    printed = ["v1"] + [
        line.strip() for line in worker.stdout.read().splitlines(keepends=True) if line.endswith("\n")
    ]
    worker.wait()
    worker.stdout.close()
    with Store.open(database) as store:
        registry = Registry(store, tmp_path / "models")
        versions = [one.version for one in registry.versions()]
        assert versions == [f"v{i}" for i in range(1, len(versions) + 1)]
        assert len(printed) <= len(versions) <= len(printed) + 1
        roles = registry.roles()
        assert roles.production in printed[-1:] + versions[-1:]
        assert registry.load(versions[-1], index)("red shoes").ids.tolist() == ["a", "b"]
        if roles.previous is not None:
            assert int(roles.production[1:]) == int(roles.previous[1:]) + 1
            assert registry.roll_back() == roles.previous
