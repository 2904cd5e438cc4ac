"""Backups: made while the service runs, checked, and put back where nothing is, in either database."""

import json
import os
import resource
import threading

import httpx
import pytest
import zstandard
from typer.testing import CliRunner

from rankloop._checksums import checked_json, file_hash, signed_json
from rankloop.cli import app
from rankloop.search import Index
from rankloop.serve import Service
from rankloop.serve.backup.make import make_backup
from rankloop.serve.backup.restore import check_backup, restore_backup
from rankloop.serve.config import Config
from rankloop.serve.events.store import Store
from serve.running import ADMIN, another, client_of, config, make_index, on_a_port, wait_until


def events_of(page, count=1):
    event = {"impression": page["impression"], "kind": "click"}
    chosen = page["results"][:count]
    return {"events": [event | {"id": f"e-{one['id']}", "document": one["id"]} for one in chosen]}


def stored(database):
    with Store.open(database) as store:
        return store.click_frame(include_bots=True, influence=None).sort("session", "position")


@pytest.fixture(params=["sqlite", "postgres"])
def kind(request):
    """The settings of a service with each kind of database."""
    return {} if request.param == "sqlite" else {"database": request.getfixturevalue("postgres").database()}


def test_a_service_goes_on_from_its_backup(tmp_path, kind):
    with client_of(tmp_path, **kind) as (client, service):
        pages = [client.post("/search", json={"query": "red shoes", "user": "ann"}).json() for _ in range(3)]
        client.post("/events", json=events_of(pages[0]))
        service.registry.promote(another(service))
        client.post("/forget", json={"user": "bob"}, headers=ADMIN)
        found = make_backup(service.config, tmp_path / "backup")
    assert found["models"] == 2
    assert (tmp_path / "backup").stat().st_mode & 0o777 == 0o700
    before = stored(service.config.database)
    new = config(tmp_path / "elsewhere")
    assert restore_backup(tmp_path / "backup", new)["models"] == 2
    assert (new.home / "secret").stat().st_mode & 0o777 == 0o600
    assert (new.home / "secret").read_bytes() == (service.config.home / "secret").read_bytes()
    with Service.open(new) as again, on_a_port(again) as client:
        assert again.versions.live.production.version == "v2"
        wait_until(lambda: again.recorder.spool.waiting == 0)
        taken = client.post("/events", json=events_of(pages[1])).json()  # its page was signed before
        assert taken == {"accepted": 1, "refused": []}
        assert client.post("/search", json={"query": "red"}).json()["found"] > 0
    after = stored(new.database)
    assert after.filter(after["session"].is_in(before["session"].implode())).height == before.height
    assert after["click"].sum() == before["click"].sum() + 1


def test_from_one_kind_of_database_to_the_other_and_back(tmp_path, postgres):
    with client_of(tmp_path) as (client, service):
        page = client.post("/search", json={"query": "red shoes"}).json()
        client.post("/events", json=events_of(page, 3))
    make_backup(service.config, tmp_path / "one")
    middle = config(tmp_path / "middle", database=postgres.database())
    restore_backup(tmp_path / "one", middle)
    make_backup(middle, tmp_path / "two")
    last = config(tmp_path / "last")
    restore_backup(tmp_path / "two", last)
    tables = [check_backup(tmp_path / name)["rows"] for name in ("one", "two")]
    assert tables[0] == tables[1]
    assert tables[0]["events"] == 3
    assert stored(service.config.database).equals(stored(last.database))


def test_nothing_that_was_accepted_is_missing_while_it_serves(tmp_path):
    """Searches, clicks and documents go on; what was answered before the backup began is in it."""
    with client_of(tmp_path) as (client, service):
        stop, accepted = threading.Event(), []

        def work():
            with httpx.Client(base_url=client.base_url, timeout=30) as own:
                for number in range(10_000):
                    page = own.post("/search", json={"query": "red shoes"}).json()
                    own.post("/events", json=events_of(page)).raise_for_status()
                    accepted.append(page["impression"].split(".")[0])
                    if number % 3 == 0:
                        own.put(f"/documents/{1000 + number}", json={"title": "hat"}, headers=ADMIN)
                    if stop.is_set():
                        return

        thread = threading.Thread(target=work)
        thread.start()
        try:
            for number in range(3):
                wanted = len(accepted) + 5
                wait_until(lambda wanted=wanted: len(accepted) > wanted)
                sure = list(accepted)
                make_backup(service.config, tmp_path / f"backup-{number}")
                new = config(tmp_path / f"new-{number}")
                restore_backup(tmp_path / f"backup-{number}", new)
                with Service.open(new) as again:
                    wait_until(lambda again=again: again.recorder.spool.waiting == 0)
                frame = stored(new.database)
                clicked = set(frame.filter(frame["click"] == 1)["session"].to_list())
                assert set(sure) <= clicked
                Index.open(new.index).check()
        finally:
            stop.set()
            thread.join()


@pytest.fixture
def made(tmp_path):
    with client_of(tmp_path) as (client, service):
        client.post("/search", json={"query": "red"})
    make_backup(service.config, tmp_path / "backup")
    return tmp_path / "backup"


def test_every_damaged_or_missing_file_is_named(made, tmp_path):
    new = config(tmp_path / "new")
    files = [path for path in sorted(made.rglob("*")) if path.is_file() and path.name != "backup.json"]
    assert {path.relative_to(made).parts[0] for path in files} == {"home", "index", "store"}
    for path in files:
        content = path.read_bytes()
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        with pytest.raises(ValueError, match=f"{path.name} is damaged"):
            restore_backup(made, new)
        path.unlink()
        with pytest.raises(ValueError, match=f"{path.name} is missing"):
            restore_backup(made, new)
        path.write_bytes(content)
    text = (made / "backup.json").read_text()
    (made / "backup.json").write_text(text.replace('"pages": 1', '"pages": 2'))
    with pytest.raises(ValueError, match=r"backup.json is damaged"):
        restore_backup(made, new)
    assert not new.home.exists()
    assert not new.index.exists()


def signed_again(made):
    """Write the list anew, as somebody would who makes up a backup."""
    content = checked_json((made / "backup.json").read_text(), signed=True)
    names = [str(path.relative_to(made)) for path in sorted(made.rglob("*")) if path.is_file()]
    files = {
        name: {"bytes": (made / name).stat().st_size, "sha256": file_hash(made / name)}
        for name in names
        if name != "backup.json"
    }
    (made / "backup.json").write_text(signed_json({**content, "files": files}))


def test_a_made_up_backup_copies_nothing_from_elsewhere(made, tmp_path):
    """Links are not followed, names do not lead out of the folder, what is not listed is not copied."""
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "key").write_text("a private key")
    (made / "home" / "reports").mkdir(exist_ok=True)
    for link, target in (
        (made / "home" / "reports" / "report.html", tmp_path / "private" / "key"),
        (made / "home" / "more", tmp_path / "private"),
    ):
        link.symlink_to(target)
        signed_again(made)
        with pytest.raises(ValueError, match="is a link"):
            restore_backup(made, config(tmp_path / "new"))
        link.unlink()
    signed_again(made)
    (made / "home" / "unlisted").write_text("x")
    restore_backup(made, config(tmp_path / "new"))
    assert not (tmp_path / "new" / "shop.serve" / "unlisted").exists()
    content = checked_json((made / "backup.json").read_text(), signed=True)
    key = {"bytes": 13, "sha256": file_hash(tmp_path / "private" / "key")}
    for files in ({"home/../../private/key": key}, {str(tmp_path / "private" / "key"): key}):
        (made / "backup.json").write_text(signed_json({**content, "files": files}))
        with pytest.raises(ValueError, match="missing from the backup"):
            check_backup(made)
    for wrong in ({"home/secret": 3}, {"home/secret": {"bytes": 3}}, ["home/secret"], 3):
        (made / "backup.json").write_text(signed_json({**content, "files": wrong}))
        with pytest.raises(ValueError, match=r"backup.json is damaged"):
            check_backup(made)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[" * 100_000,
        b'{"page_id": 1}\n',
        b'["page_id"]\n{"a": 1}\n',
        b'["page_id"]\n["a", "b"]\n',
        b'["page_id"]\n[{"a": 1}]\n',
        b'["page_id", "time"]\n["a", 1e999]\n',
        b'["page_id", "shown"]\n["a", 99999999999999999999999]\n',
        b'["page_id"]\n["\xff"]\n',
        b"\0" * 100,
    ],
)
def test_a_made_up_table_is_an_error_that_names_it(made, tmp_path, content):
    (made / "store" / "pages.jsonl.zst").write_bytes(zstandard.compress(content))
    signed_again(made)
    with pytest.raises(ValueError, match=r"pages\.jsonl\.zst is damaged"):
        restore_backup(made, config(tmp_path / "new"))
    assert not (tmp_path / "new" / "shop.serve").exists()


@pytest.mark.parametrize("line", [b"a" * 2**20, b'["a"]\n' * 2**17], ids=["one line", "many lines"])
def test_a_small_table_does_not_unpack_to_gigabytes(made, tmp_path, line):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    path = made / "store" / "pages.jsonl.zst"
    with path.open("wb") as file, zstandard.ZstdCompressor().stream_writer(file) as packed:
        packed.write(b'["page_id"]\n')
        for _ in range(3000):
            packed.write(line)
    signed_again(made)
    with pytest.raises(ValueError, match=r"pages\.jsonl\.zst is damaged"):
        restore_backup(made, config(tmp_path / "new"))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 600_000  # kilobytes


def test_where_something_is_nothing_is_restored(made, tmp_path):
    with pytest.raises(ValueError, match=r"shop.serve is not empty"):
        restore_backup(made, config(tmp_path))
    (tmp_path / "new").mkdir()
    make_index(tmp_path / "new")
    with pytest.raises(ValueError, match=r"shop.index is not empty"):
        restore_backup(made, config(tmp_path / "new"))
    url = f"sqlite:///{tmp_path / 'shop.serve' / 'events.db'}"
    with pytest.raises(ValueError, match=r"events.db is not empty"):
        restore_backup(made, config(tmp_path / "third", database=url))
    assert not (tmp_path / "third" / "shop.index").exists()
    with pytest.raises(ValueError, match="exists already"):
        make_backup(config(tmp_path), made)


def test_the_commands(made, tmp_path):
    out = tmp_path / "again"
    result = CliRunner().invoke(app, ["backup", str(tmp_path / "shop.index"), "--out", str(out), "--json"])
    assert result.exit_code == 0, result.output + repr(result.exception)
    assert json.loads(result.output)["pages"] == 1
    result = CliRunner().invoke(app, ["check", str(out)])
    assert result.exit_code == 0, result.output
    assert "backup, intact" in result.output
    target = tmp_path / "restored" / "shop.index"
    result = CliRunner().invoke(app, ["restore", str(out), str(target)])
    assert result.exit_code == 0, result.output + repr(result.exception)
    assert "1 pages and 1 models restored" in result.output
    (tmp_path / "shop.toml").write_text('index = "toml/shop.index"\nfolder = "toml/serve"\n')
    result = CliRunner().invoke(app, ["restore", str(out), str(tmp_path / "shop.toml")])
    assert result.exit_code == 0, result.output + repr(result.exception)
    assert os.path.exists(tmp_path / "toml" / "serve" / "events.db")
    assert (
        stored(Config.read(tmp_path / "shop.toml").database).height
        == stored(Config(index=target).database).height
    )
