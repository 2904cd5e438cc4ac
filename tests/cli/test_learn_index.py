"""`rankloop learn INDEX LOG`: a past log teaches an index, and what it wrote searches and serves."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from rankloop.cli import app
from rankloop.clicks import ClickLog, write_clicks
from rankloop.search import Index, load_pipeline
from rankloop.serve import Config, Service
from rankloop.serve.http.schema import SearchRequest
from rankloop.serve.models.adopt import adopt

KINDS = ("shoes", "hat", "coat", "scarf", "gloves", "belt", "socks", "shirt")


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """An index, and the log of a shop whose people want what is cheap, while it shows what is dear first."""
    folder = tmp_path_factory.mktemp("shop")
    random = np.random.default_rng(0)
    with Index.create(folder / "shop.index", {"title": "text", "price": "number"}) as index:
        index.add(
            {"id": f"{kind}-{number}", "title": f"fine {kind}", "price": 10.0 * number}
            for kind in KINDS
            for number in range(8)
        )
        index.commit()
    rows = []
    for visit in range(1500):
        kind = KINDS[visit % len(KINDS)]
        order = sorted(range(8), key=lambda n: -n + random.normal(0, 2.0))[:6]
        for rank, number in enumerate(order, 1):
            clicked = random.random() < 0.9 / rank * (0.8 if number < 3 else 0.1)
            rows.append((f"visit {visit}", f" fine  {kind}", f"{kind}-{number}", rank, int(clicked)))
    frame = pl.DataFrame(rows, ["visit", "q", "sku", "place", "clicked"], orient="row")
    frame.write_csv(folder / "log.csv")
    return folder


COLUMNS = "session=visit,query=q,document=sku,position=place,click=clicked"


def run(*given):
    return CliRunner().invoke(app, ["learn", *map(str, given)])


@pytest.fixture(scope="module")
def learned(shop):
    options = ("--budget", "quick", "--trees", 30, "--out", shop / "learned", "--json")
    result = run(shop / "shop.index", shop / "log.csv", "--columns", COLUMNS, *options)
    assert result.exit_code == 0, result.output + repr(result.exception)
    return json.loads(result.output)


def test_what_people_want_is_learned_not_what_was_shown_first(shop, learned):
    assert learned["pages"] == 1500
    assert learned["queries"] == len(KINDS)
    index = Index.open(shop / "shop.index")
    search = load_pipeline(shop / "learned" / "search.rank", index)
    top = [int(str(id).split("-")[1]) for kind in KINDS for id in search(f"fine {kind}").ids[:3].tolist()]
    assert np.mean([number < 3 for number in top]) > 0.9
    assert json.loads((shop / "learned" / "learned.json").read_text())["chosen"] == learned["chosen"]


def test_the_features_are_those_of_the_service(shop, tmp_path):
    toml = f'index = "{shop / "shop.index"}"\nfeatures = ["bm25(title)", "value(price)"]\n'
    (tmp_path / "shop.toml").write_text(toml)
    options = ("--budget", "quick", "--trees", 5, "--out", tmp_path / "out")
    result = run(tmp_path / "shop.toml", shop / "log.csv", "--columns", COLUMNS, *options)
    assert result.exit_code == 0, result.output + repr(result.exception)
    search = load_pipeline(tmp_path / "out" / "search.rank", Index.open(shop / "shop.index"))
    assert search.features.names == ("bm25(title)", "value(price)")


def test_search_takes_the_folder(shop, learned):
    given = ["search", str(shop / "shop.index"), "fine hat", "--pipeline", str(shop / "learned"), "--json"]
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 0, result.output
    assert int(json.loads(result.output)["hits"][0]["id"].split("-")[1]) < 3


def test_serve_takes_the_folder_once(shop, learned, tmp_path):
    config = Config(index=shop / "shop.index", folder=tmp_path / "serve")
    assert adopt(config, shop / "learned") == "v2"
    assert adopt(config, shop / "learned") == "v2"
    with Service.open(config) as service:
        assert [one.role for one in service.registry.versions()] == ["previous", "production"]
        found = service.search(SearchRequest(query="fine hat", record=False))
        assert int(found.results[0].id.split("-")[1]) < 3


def test_a_pipeline_that_does_not_fit_changes_nothing(shop, learned, tmp_path):
    with Index.create(tmp_path / "other.index", {"name": "text"}) as index:
        index.add([{"id": 1, "name": "x"}])
        index.commit()
    config = Config(index=tmp_path / "other.index")
    with pytest.raises(ValueError, match="field"):
        adopt(config, shop / "learned")
    with pytest.raises(FileNotFoundError, match="there is no pipeline"):
        adopt(config, tmp_path)
    assert not config.home.exists()


def test_documents_that_are_gone_are_said_and_can_be_dropped(shop, tmp_path):
    frame = pl.read_csv(shop / "log.csv").rename(
        {"visit": "session", "q": "query", "sku": "document", "place": "position", "clicked": "click"}
    )
    gone = frame.with_columns(pl.col("document").str.replace("hat-1", "sold-out"))
    gone.write_csv(tmp_path / "gone.csv")
    result = run(shop / "shop.index", tmp_path / "gone.csv", "--out", tmp_path / "out", "--budget", "quick")
    assert result.exit_code != 0
    assert "sold-out" in str(result.exception)
    assert "--missing drop" in str(result.exception)
    options = ("--missing", "drop", "--out", tmp_path / "out", "--budget", "quick", "--trees", 5)
    result = run(shop / "shop.index", tmp_path / "gone.csv", *options)
    assert result.exit_code == 0, result.output + repr(result.exception)
    assert "dropped" in result.output
    assert (tmp_path / "out" / "search.rank").exists()


def test_user_behavior_insights_in_a_folder(shop, tmp_path):
    log = pl.read_csv(shop / "log.csv").filter(pl.col("visit").str.split(" ").list[1].cast(int) < 400)
    folder = tmp_path / "ubi"
    folder.mkdir()
    queries, events = [], []
    for (visit, query), page in log.group_by(["visit", "q"], maintain_order=True):
        hits = page.sort("place")["sku"].to_list()
        queries.append({"query_id": visit, "user_query": query, "query_response_hit_ids": hits})
        for one in page.filter(pl.col("clicked") == 1)["sku"]:
            shown = {"object": {"object_id": one}}
            stamp = "2026-03-01T10:00:00Z"
            events.append(
                {"query_id": visit, "action_name": "click", "timestamp": stamp, "event_attributes": shown}
            )
    (folder / "ubi_queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    (folder / "ubi_events.jsonl").write_text("\n".join(map(json.dumps, events)))
    given = ("--log-format", "ubi", "--budget", "quick", "--trees", 5, "--out", tmp_path / "out")
    result = run(shop / "shop.index", folder, *given)
    assert result.exit_code == 0, result.output + repr(result.exception)
    assert "400 pages of 8 queries" in result.output


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--columns", "query"), "--columns takes pairs like query=q,document=sku, got 'query'"),
        (("--columns", "querry=q"), "unknown column of a click log 'querry'"),
        (("--columns", "query=text"), "log.csv has no column 'text'; it has visit, q, sku"),
        (("--columns", "query=q"), "needs the columns"),
        ((), "needs the columns"),
        (("--columns", COLUMNS.replace("sku", "visit")), "no document of the log is in the index"),
        (("--columns", COLUMNS, "--out", "{shop}"), "exists; choose another --out"),
        (("--columns", COLUMNS, "--log-format", "ubi"), "--columns is for logs in tables"),
        (("--log-format", "ubi"), "a folder with ubi_queries and ubi_events"),
        (("--columns", COLUMNS, "--backend", "local"), "leave --backend out"),
    ],
)
def test_a_wrong_log_is_one_sentence(shop, tmp_path, given, message):
    given = [one.replace("{shop}", str(shop)) for one in given]
    given = given if "--out" in given else [*given, "--out", str(tmp_path / "out")]
    result = run(shop / "shop.index", shop / "log.csv", *given)
    assert result.exit_code != 0
    assert message in str(result.exception) + result.output
    assert not (tmp_path / "out").exists()


def test_columns_are_for_data_sets_too(tmp_path):
    from rankloop.cli.options.logs import read_log

    log = ClickLog([1, 1], ["a", "a"], ["x", "y"], [1, 2], [0, 1])
    write_clicks(log, tmp_path / "log.parquet")
    renamed = pl.read_parquet(tmp_path / "log.parquet").rename({"query": "q", "click": "c"})
    renamed.with_columns(click=pl.lit(9)).write_parquet(tmp_path / "other.parquet")
    read = read_log(tmp_path / "other.parquet", columns="query=q, click=c")
    assert read.click.tolist() == [0, 1]
    both = read_log(str(tmp_path / "o*.parquet"), columns="query=q,click=c")
    assert both.document.tolist() == ["x", "y"]
