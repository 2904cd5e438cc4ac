"""Click logs on the command line: globs, shards, and documents that the data set lacks."""

import json

import polars as pl
import pytest
from typer.testing import CliRunner

from rankloop.cli import app
from rankloop.cli.options.logs import read_log, without_missing
from rankloop.clicks import PBM, ClickLog, simulate, write_clicks
from rankloop.data import RankingDataset, synthetic, write_shards


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    at = tmp_path_factory.mktemp("logs")
    data = synthetic(n_queries=10, docs_per_query=8, n_features=3, seed=0)
    documents = [f"d{i}" for i in range(data.n_documents)]
    data = RankingDataset(data.X, data.y, [f"q{one}" for one in data.row_qid], docid=documents)
    user = PBM(examination=[1.0, 0.6, 0.4], attraction=[0.1, 0.3, 0.5, 0.7, 0.9])
    log = simulate(data, logging_policy=data.X[:, 0], user=user, sessions=200, k=3, randomize="swap", seed=0)
    frame = log.to_frame()
    write_clicks(log, at / "log.parquet")
    half = len(frame) // 2 // 3 * 3
    frame[:half].write_csv(at / "part-1.csv")
    frame[half:].write_csv(at / "part-2.csv")
    write_shards(at / "log.parquet", at / "log.shards", shards=2)
    data.save(at / "data")
    data.select(range(9)).save(at / "fewer")
    return at, data, log


def counts(log):
    return len(log), log.n_pages, int(log.click.sum()), sorted(log.to_frame()["document"].to_list())


@pytest.mark.parametrize("name", ["part-*.csv", "log.shards", "log.parquet"])
def test_a_log_in_parts_is_the_log(made, name):
    at, _, log = made
    assert counts(read_log(at / name)) == counts(log)
    told = json.loads(CliRunner().invoke(app, ["clicks", "check", str(at / name), "--json"]).output)
    assert told["log"] == str(at / name)


def test_documents_that_the_data_set_lacks_can_be_dropped(made, capsys):
    at, data, log = made
    fewer = RankingDataset.load(at / "fewer")
    kept = without_missing(log, fewer, "drop")
    known = set(fewer.qid.tolist())
    expected = log.to_frame().filter(pl.col("query").is_in(list(known)))
    assert kept.to_frame().equals(ClickLog.from_frame(expected).to_frame())
    assert f"dropped {len(log) - len(kept):,} of {len(log):,} impressions" in capsys.readouterr().err
    assert without_missing(log, data, "drop") is log
    asked = ["clicks", "fit", str(at / "log.parquet"), "--model", "pbm", "--features", str(at / "fewer")]
    with pytest.raises(ValueError, match="on the command line --missing drop"):
        CliRunner().invoke(app, [*asked, "--iterations", "2"], catch_exceptions=False)
    done = CliRunner().invoke(app, [*asked, "--iterations", "2", "--missing", "drop", "--json"])
    assert done.exit_code == 0, done.output


def test_shards_of_documents_are_no_log(made, tmp_path):
    at, _, _ = made
    write_shards(at / "data", tmp_path / "data.shards", shards=2)
    with pytest.raises(ValueError, match="holds shards of documents; a click log is needed"):
        read_log(tmp_path / "data.shards")


@pytest.fixture(scope="module")
def broken(made):
    """The log as CSV and as JSON lines, with one bad line in each."""
    at, _, log = made
    rows = (at / "whole.csv", at / "broken.csv")
    log.to_frame().write_csv(rows[0])
    lines = rows[0].read_text().splitlines()
    rows[1].write_text("\n".join([*lines[:4], lines[4].rpartition(",")[0] + ",no click", *lines[4:]]) + "\n")
    log.to_frame().write_ndjson(at / "whole.jsonl")
    lines = (at / "whole.jsonl").read_text().splitlines()
    (at / "broken.jsonl").write_text("\n".join([*lines[:4], '{"session": 1, "que', *lines[4:]]) + "\n")
    return at


COMMANDS = {
    "check": ["clicks", "check", "LOG"],
    "fit": ["clicks", "fit", "LOG", "--model", "pbm", "--iterations", "2"],
    "judge": ["clicks", "judge", "LOG", "--out", "OUT.csv"],
    "propensity": ["clicks", "propensity", "LOG"],
    "learn": ["learn", "DATA", "LOG", "--budget", "quick", "--trees", "5"],
    "report": ["report", "LOG", "--out", "OUT.html"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_bad_line_is_an_error_or_one_skipped_line_in_every_command(broken, name, tmp_path):
    places = {"LOG": broken / "broken.jsonl", "DATA": broken / "data"}
    places |= {"OUT.csv": tmp_path / "out.csv", "OUT.html": tmp_path / "out.html"}
    command = [str(places.get(word, word)) for word in COMMANDS[name]]
    for given in ([], ["--on-error", "fail"]):
        with pytest.raises(ValueError, match=r"broken\.jsonl"):
            CliRunner().invoke(app, [*command, *given], catch_exceptions=False)
    with pytest.raises(ValueError, match="on-error"):
        CliRunner().invoke(app, [*command, "--on-error", "ignore"], catch_exceptions=False)
    done = CliRunner().invoke(app, [*command, "--on-error", "skip"])
    assert done.exit_code == 0, done.output
    assert "broken.jsonl: left out 1 " in done.stderr


@pytest.mark.parametrize("name", ["broken.csv", "broken.jsonl"])
def test_all_other_lines_are_kept(broken, made, name, capsys):
    _, _, log = made
    assert counts(read_log(broken / name, on_error="skip")) == counts(log)
    assert f"{name}: left out 1 " in capsys.readouterr().err
    assert counts(read_log(broken / name.replace("broken", "whole"), on_error="skip")) == counts(log)
    assert capsys.readouterr().err == ""


def test_where_lines_cannot_be_skipped_it_is_said(broken):
    with pytest.raises(ValueError, match="shards have no bad lines"):
        read_log(broken / "log.shards", on_error="skip")
    with pytest.raises(ValueError, match="leave --columns out"):
        read_log(broken / "broken.csv", columns="query=query", on_error="skip")
    command = ["learn", str(broken / "data"), str(broken / "broken.csv"), "--backend", "local"]
    with pytest.raises(ValueError, match="--on-error skip does not work with"):
        CliRunner().invoke(app, [*command, "--on-error", "skip"], catch_exceptions=False)
