"""One place of a saved file changed: noticed by its reader or by `rankloop check`, never another answer."""

import contextlib
import json
import os
import shutil
import sqlite3
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import rankloop as rl
from hardening.damage import damages, rewrite
from rankloop import _archive
from rankloop._checksums import checked_json, signed_json
from rankloop.cli import app
from rankloop.clicks.load_model import load_model
from rankloop.data import load_dataset, open_dataset, save_dataset, write_dataset
from rankloop.data.files.whole import read_whole
from rankloop.data.shards.shards import open_shards
from rankloop.data.shards.write_shards import write_shards
from rankloop.serve.secret import secret

CASES = 18


@pytest.fixture(scope="module")
def data():
    return rl.synthetic(n_queries=12, docs_per_query=6, n_features=4, seed=0)


def checked(path):
    return CliRunner().invoke(app, ["check", str(path)])


def content(data):
    names = ("X", "y", "offsets", "qid", "docid", "query_weight", "feature_names")
    return repr([None if (v := getattr(data, name)) is None else np.asarray(v).tolist() for name in names])


def every_change(folder_or_file, file, read, cases=CASES):
    """Damage one file again and again; gives what nobody noticed."""
    whole, wanted, unnoticed = file.read_bytes(), read(), []
    assert checked(folder_or_file).exit_code == 0
    for number, (kind, damaged) in enumerate(damages(whole, cases, seed=len(file.name))):
        rewrite(file, damaged)
        try:
            if read() != wanted:
                unnoticed.append((file.name, kind, number, "another answer"))
            elif checked(folder_or_file).exit_code == 0:
                unnoticed.append((file.name, kind, number, "not noticed"))
        except (ValueError, FileNotFoundError):
            result = checked(folder_or_file)
            if result.exit_code == 0:
                unnoticed.append((file.name, kind, number, "check says it is whole"))
    rewrite(file, whole)
    return unnoticed


def test_a_saved_data_set(data, tmp_path):
    save_dataset(data, tmp_path / "set")
    found = []
    for file in sorted((tmp_path / "set").iterdir()):
        found += every_change(tmp_path / "set", file, lambda: content(load_dataset(tmp_path / "set")))
    assert found == []
    file = tmp_path / "set" / "y.npy"
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    result = checked(tmp_path / "set")
    assert result.exit_code == 1
    assert "y.npy is damaged from byte 0 on" in result.output
    load_dataset(tmp_path / "set", verify=False)


@pytest.mark.parametrize("flip", [1, 8, 32])
def test_every_byte_of_a_header(data, tmp_path, flip):
    """numpy raises errors of many kinds where the header of an array is no Python."""
    save_dataset(data, tmp_path / "set")
    file = tmp_path / "set" / "y.npy"
    whole = file.read_bytes()
    for at in range(128):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ flip]) + whole[at + 1 :])
        with pytest.raises(ValueError, match=r"y\.npy"):
            load_dataset(tmp_path / "set")
    for at in range(100):
        changed = whole[:at] + bytes([whole[at] ^ flip]) + whole[at + 1 :]
        with contextlib.suppress(*_archive._DAMAGE):
            _archive._array(changed)


def test_shards(data, tmp_path):
    write_shards(data, tmp_path / "shards", shards=2)

    def read():
        shards = open_shards(tmp_path / "shards")
        return repr([content(one) for one in shards] + [shards.labels, shards.ranges, shards.fingerprint])

    found = []
    for file in sorted((tmp_path / "shards").iterdir()):
        if file.stat().st_size:
            found += every_change(tmp_path / "shards", file, read)
    assert found == []


@pytest.mark.parametrize("suffix", [".zst", ".gz"])
def test_compressed_text(data, tmp_path, suffix):
    path = tmp_path / f"set.txt{suffix}"
    write_dataset(data, path)
    wanted, again = content(open_dataset(path)), tmp_path / f"again{suffix}"
    again.touch()
    for number, (kind, damaged) in enumerate(damages(path.read_bytes(), 60, seed=1)):
        rewrite(again, damaged)
        with contextlib.suppress(ValueError):
            assert content(open_dataset(again)) == wanted, (kind, number)


@pytest.mark.parametrize("suffix", [".zst", ".gz"])
def test_every_bit_of_compressed_text(tmp_path, suffix):
    """Bits that nobody reads (a size of memory, a date, ends of tables) change nothing: same text."""
    path = tmp_path / f"set.txt{suffix}"
    write_dataset(rl.synthetic(n_queries=2, docs_per_query=3, n_features=4, seed=0), path)
    whole, text, unread = path.read_bytes(), read_whole(path), 0
    for at in range(len(whole)):
        for bit in range(8):
            rewrite(path, whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :])
            try:
                found = read_whole(path)
            except ValueError:
                continue
            if at < 4 and found[:4] != text[:4]:  # no longer a packed file by its first bytes
                with pytest.raises(ValueError, match=r"."):
                    open_dataset(path)
                continue
            assert found == text, (at, bit)
            unread += 1
    assert 0 < unread < len(whole) // 2


@pytest.mark.parametrize("made_up", [[1], {"9" * 400: [1]}, {"../X.npy": [1]}])
def test_checksums_of_other_files(data, tmp_path, made_up):
    save_dataset(data, tmp_path / "set")
    path = tmp_path / "set" / "manifest.json"
    given = json.loads(path.read_text()) | {"checksums": made_up}
    path.write_text(
        signed_json({name: one for name, one in given.items() if name not in ("signed", "digest")})
    )
    with pytest.raises(ValueError, match="it has checksums of other files"):
        load_dataset(tmp_path / "set")


@pytest.mark.parametrize("kind", ["linear", "trees", "click model"])
def test_saved_models(data, tmp_path, kind):
    path = tmp_path / "model"
    if kind == "click model":
        log = rl.simulate(data, logging_policy=data.y, sessions=200, seed=0)
        rl.clicks.PBM(iterations=2).fit(log).save(path)

        def read():
            return repr(load_model(path).click_probability(log).tolist())

    else:
        ranker = rl.LinearRanker() if kind == "linear" else rl.LambdaMART(trees=3, leaves=4)
        ranker.fit(data).save(path)

        def read():
            return repr(rl.load(path).predict(data.X).tolist())

    assert every_change(path, path, read, cases=30) == []


def test_what_check_says(data, tmp_path):
    index = rl.Index.create(tmp_path / "i", fields={"title": "text"})
    index.add([{"id": 1, "title": "red"}])
    index.commit()
    save_dataset(data, tmp_path / "set")
    both = CliRunner().invoke(
        app, ["check", str(tmp_path / "i"), str(tmp_path / "set"), str(tmp_path / "no")]
    )
    assert both.exit_code == 1
    assert "i: index, intact: 2 files, 1 documents" in both.output
    assert "set: data set, intact: 12 queries" in both.output
    assert "there is no file" in both.output
    assert "1 of 3 is damaged or missing" in both.output
    segment = next((tmp_path / "i").glob("segment-*.bin"))
    segment.write_bytes(segment.read_bytes()[:-1])
    broken = checked(tmp_path / "i")
    assert broken.exit_code == 1
    assert f"{segment.name} is damaged or cut short" in broken.output


def test_check_of_a_run_folder(data, tmp_path):
    save_dataset(data, tmp_path / "set")
    asked = ["train", str(tmp_path / "set"), "--ranker", "linear", "--out", str(tmp_path / "run")]
    CliRunner().invoke(app, asked, catch_exceptions=False)
    whole = checked(tmp_path / "run")
    assert (whole.exit_code, "run: a run folder with ranker, intact" in whole.output) == (0, True)
    model = tmp_path / "run" / "model.rank"
    model.write_bytes(model.read_bytes()[:-30])
    broken = checked(tmp_path / "run")
    assert broken.exit_code == 1
    assert "model.rank" in broken.output


def test_check_of_a_service(tmp_path):
    from serve.running import client_of

    with client_of(tmp_path) as (client, _):
        client.post("/search", json={"query": "red"})
    home = next(tmp_path.glob("*.serve"))
    assert checked(home).exit_code == 0
    copy = tmp_path / "copy"
    shutil.copytree(home, copy)
    database = copy / "events.db"
    data = bytearray(database.read_bytes())
    data[100:2000] = bytes(1900)
    database.write_bytes(data)
    assert "events.db is damaged" in checked(copy).output
    shutil.rmtree(copy)
    shutil.copytree(home, copy)
    for model in (copy / "models").glob("*.zip"):
        model.write_bytes(model.read_bytes()[:-1])
    if list((copy / "models").glob("*.zip")):
        assert "its hash is not its name" in checked(copy).output
    (copy / "spool").mkdir(exist_ok=True)
    (copy / "spool" / f"{1:020d}-1.spool").write_bytes(b"RLS1torn")
    for model in (copy / "models").glob("*.zip"):
        model.unlink()
    assert "damaged or unfinished record" in checked(copy).output
    for name in ("secret", "serving.json"):
        shutil.rmtree(copy)
        shutil.copytree(home, copy)
        whole = (copy / name).read_bytes()
        for damaged in (b"", whole[:20], bytes(len(whole)), whole[:20] + bytes(8) + whole[28:]):
            (copy / name).write_bytes(damaged)
            assert f"{name} is damaged" in checked(copy).output
    shutil.rmtree(copy)
    shutil.copytree(home, copy)
    gone = next((copy / "models").glob("*.zip"))
    gone.unlink()
    assert f"{gone.name}, the file of v1, is missing" in " ".join(checked(copy).output.split())
    for left in copy.glob("events.db*"):
        left.unlink()
    (copy / "events.db").touch()
    assert "events.db is not the store of a service" in " ".join(checked(copy).output.split())


def swapped(home, name, content):
    """What is said of a file that was put there a minute after the last change."""
    (home / name).write_bytes(content)
    os.utime(home / name, (time.time() + 60, time.time() + 60))
    found = checked(home)
    return found.exit_code, " ".join(found.output.split())


@pytest.fixture(scope="module")
def two_homes(tmp_path_factory):
    """The folders of a service and of another, which served its third version."""
    from serve.running import another, client_of

    homes = []
    for name in ("ours", "theirs"):
        folder = tmp_path_factory.mktemp(name)
        with client_of(folder) as (client, service):
            client.post("/search", json={"query": "red"})
            if homes:
                another(service, **{"value(price)": 2.0})
            service.versions.promote(another(service))
        homes.append(next(folder.glob("*.serve")))
    return homes


def test_check_notices_a_swapped_key(two_homes, tmp_path, monkeypatch):
    ours, theirs = two_homes
    shutil.copytree(ours, tmp_path / "copy")
    code, said = swapped(tmp_path / "copy", "secret", (theirs / "secret").read_bytes())
    assert code == 1
    assert "secret is not the key with which" in said
    monkeypatch.setenv("RANKLOOP_SECRET", "x" * 40)
    assert checked(ours).exit_code == 0


def test_check_notices_a_swapped_version_to_start_with(two_homes, tmp_path):
    ours, theirs = two_homes
    copy = tmp_path / "copy"
    shutil.copytree(ours, copy)
    code, said = swapped(copy, "serving.json", (theirs / "serving.json").read_bytes())
    assert code == 1
    assert "serving.json names v3" in said
    for version, hashed in (("v1", file_of(ours, "v1")), ("v2", "0" * 64)):
        other = signed_json({"production": version, "sha256": hashed})
        code, said = swapped(copy, "serving.json", other.encode())
        assert code == 1
        assert f"serving.json names {version}" in said
    code, said = swapped(copy, "serving.json", b'{"production": "v2"}')
    assert code == 1


def file_of(home, version):
    """The hash of the file of a version."""
    with contextlib.closing(sqlite3.connect(home / "events.db")) as connection:
        return connection.execute("SELECT sha256 FROM models WHERE version = ?", (version,)).fetchone()[0]


def test_a_promotion_while_no_service_runs_is_no_damage(two_homes, tmp_path):
    from rankloop.serve.events.store import Store
    from rankloop.serve.models.registry import Registry

    home = tmp_path / "copy"
    shutil.copytree(two_homes[0], home)
    store = Store.open(f"sqlite:///{home / 'events.db'}")
    Registry(store, home / "models").promote("v1")
    store.close()
    found = checked(home)
    assert found.exit_code == 0
    assert "serving.json still names v2, and production is v1" in " ".join(found.output.split())


def test_a_service_says_that_its_key_was_swapped(tmp_path):
    from serve.running import serving

    with serving(tmp_path) as service:
        home = service.config.home
        assert service.troubles == ()
    whole = (home / "secret").read_bytes()
    (home / "secret").write_bytes(whole[::-1])
    with serving(tmp_path) as service:
        assert any("is not the key with which" in one for one in service.troubles)
    (home / "secret").write_bytes(whole)
    assert checked(home).exit_code == 0
    with serving(tmp_path) as service:
        assert service.troubles == ()
    (home / "secret").unlink()  # as the documentation says
    with serving(tmp_path) as service:
        assert service.troubles == ()
    assert checked(home).exit_code == 0


@pytest.mark.parametrize("key", [b"", bytes(64), b"\n" * 64, b"a" * 31, b"\xff" * 64])
def test_a_key_that_others_know_signs_nothing(tmp_path, key):
    """A file that lost its content, as after a loss of power, is not taken for the key of signatures."""
    (tmp_path / "secret").write_bytes(key)
    with pytest.raises(ValueError, match="secret is damaged"):
        secret(tmp_path)


def test_signed_json_notices_every_byte():
    text = signed_json({"rows": 12, "names": ["a", "é"], "none": None})
    assert checked_json(text) == {"rows": 12, "names": ["a", "é"], "none": None, "signed": True} | {
        "digest": checked_json(text)["digest"]
    }
    for at in range(len(text)):
        for changed in (
            text[:at] + chr(ord(text[at]) ^ 1) + text[at + 1 :],
            text[:at],
            text + "x",
            text + "\n",
        ):
            with pytest.raises(ValueError, match=r"."):
                checked_json(changed)
    with pytest.raises(ValueError, match="changed after it was written"):
        checked_json("{}", signed=True)


def test_folders_from_before_there_were_checksums_are_read(data, tmp_path):
    save_dataset(data, tmp_path / "set")
    path = Path(tmp_path / "set" / "manifest.json")
    saved = checked_json(path.read_text())
    path.write_text(
        json.dumps({k: v for k, v in saved.items() if k not in ("signed", "digest", "checksums")})
    )
    assert content(load_dataset(tmp_path / "set")) == content(data)
