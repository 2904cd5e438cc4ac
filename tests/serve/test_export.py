"""Keeping, forgetting, and taking out: what goes is gone, what stays is whole."""

import numpy as np
import polars as pl
import pytest
from sqlalchemy import text

import rankloop as rl
from rankloop.cli.clicks import export
from rankloop.clicks import ClickLog
from rankloop.serve.config import Config
from rankloop.serve.events.store import Store

DAY = 86_400
TABLES = ("pages", "page_features", "events", "clicks", "judgments")


def rows(store):
    with store.reading() as connection:
        return {
            name: connection.execute(text(f"SELECT count(*) FROM {name}")).scalar_one() for name in TABLES
        }


def test_what_is_too_old_goes_with_its_events(store, page, click):
    pages = [page(shown=float(day * DAY)) for day in range(1, 1101)]
    store.put_pages(pages)
    store.put_events([click(one, "a") for one in pages[::2]])
    never_shown = page(shown=DAY)
    store.put_events([click(never_shown, "a")])
    assert store.retain(100, now=1101 * DAY) == 1000
    assert rows(store) == {"pages": 100, "page_features": 100, "events": 50, "clicks": 50, "judgments": 0}
    assert store.retain(100, now=1101 * DAY) == 0
    assert store.page(pages[-1].page_id) is not None
    with pytest.raises(ValueError, match="days is above 0, got 0"):
        store.retain(0)


def test_a_forgotten_user_is_gone(store, page, click, tmp_path):
    mine = [page(f"very private question {i}", user="ada-key", shown=1000.0 + i) for i in range(3)]
    other = page(user="bob-key")
    store.put_pages([*mine, other])
    store.put_events([click(one, "b") for one in (*mine, other)])
    store.put_judgment("very private question", "a", 2, "ada-key")
    store.put_judgment("shoes", "a", 2, "bob-key")
    assert store.forget("ada-key") == 3
    assert rows(store) == dict.fromkeys(TABLES, 1)
    assert store.click_frame()["user"].unique().to_list() == ["bob-key"]
    assert store.forget("ada-key") == 0
    with pytest.raises(ValueError, match="the user is empty"):
        store.forget("")
    store.put_pages([mine[0], page(user="ada-key", shown=2e9)])  # one was on its way, one is new
    assert store.page(mine[0].page_id) is None
    assert store.click_frame().filter(pl.col("user") == "ada-key")["timestamp"].unique().to_list() == [2e9]
    assert store.forget("ada-key", now=3e9) == 1
    for path in tmp_path.glob("events.db*"):  # of SQLite: not even in what was deleted
        assert b"very private" not in path.read_bytes()


def test_an_export_holds_everything(store, page, click, tmp_path):
    one = page("größe", "ab", user="u", features=[[1, 2], [3, np.nan]], shown=10.0)
    empty = page("nothing", "", shown=20.0, features=np.zeros((0, 2)))
    store.put_pages([one, empty, page("late", shown=500.0)])
    store.put_events([click(one, "b"), click(one, "b", kind="dwell", value=9.0)])
    store.put_judgment("größe", "a", 1.0, "u")
    store.export(tmp_path / "out", until=100.0)
    pages = pl.read_parquet(tmp_path / "out" / "pages-*.parquet").sort("time")
    assert pages["query"].to_list() == ["größe", "nothing"]
    assert pages["documents"].to_list() == [["a", "b"], []]
    assert pages["scores"].to_list() == [[0.0, -1.0], []]
    np.testing.assert_array_equal(pages["features"][0], [1, 2, 3, np.nan])
    names = pl.read_parquet(tmp_path / "out" / "feature_sets-*.parquet").rows_by_key("feature_set")
    assert names[pages["feature_set"][0]] == [(["bm25", "age"],)]
    events = pl.read_parquet(tmp_path / "out" / "events-*.parquet")
    assert sorted(events["kind"]) == ["click", "dwell"]
    assert pl.read_parquet(tmp_path / "out" / "judgments-*.parquet")["grade"].to_list() == [1.0]
    log = rl.read_clicks(tmp_path / "out" / "clicks.parquet")
    same = ClickLog.from_store(store, until=100.0)
    assert log.document.tolist() == same.document.tolist() == ["a", "b"]
    assert log.click.tolist() == [0, 1]
    store.export(tmp_path / "none", since=1e6)
    assert pl.read_parquet(tmp_path / "none" / "pages-*.parquet").height == 0


def test_an_export_replaces_nothing(store, tmp_path):
    mine = tmp_path / "thesis"
    mine.mkdir()
    with pytest.raises(ValueError, match="thesis exists; choose another folder"):
        store.export(mine)
    assert mine.is_dir()
    assert not list(mine.iterdir())


def test_a_service_is_exported_by_a_command(tmp_path, page, click):
    index = rl.Index.create(tmp_path / "shop.index", fields={"title": "text"})
    index.add([{"id": "a", "title": "red shoes"}])
    index.commit()
    config = Config.read(tmp_path / "shop.index")
    config.home.mkdir(parents=True)
    with Store.open(config.database) as opened:
        one = page(documents="abc")
        opened.put_pages([one])
        opened.put_events([click(one, "b")])
    export(tmp_path / "shop.index", tmp_path / "out")
    assert rl.read_clicks(tmp_path / "out" / "clicks.parquet").click.tolist() == [0, 1, 0]
    export(tmp_path / "shop.index", tmp_path / "late", days=1.0)
    assert len(rl.read_clicks(tmp_path / "late" / "clicks.parquet")) == 0
