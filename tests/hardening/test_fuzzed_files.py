"""Files of every format that is read, with changes: read or refused with a ValueError, in bounded memory."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rankloop as rl
from hardening.damage import FULL, TRIED
from rankloop._json import parse_json
from rankloop.clicks import read_clicks, read_ubi
from rankloop.data import read_judgments, read_ltr_log
from rankloop.interleaving import read_duel
from rankloop.search import read_documents
from rankloop.serve import Config

EACH = 150  # copies of a file
SEALED = {  # by checksums: of these no changed copy is read
    "data set",
    "list of a data set",
    "list of shards",
    "ranker",
    "click model",
    "list of an index",
    "segment",
    "pipeline",
    "list of a backup",
}
PACKED = {"SVMLight in gzip", "SVMLight in Zstandard"}  # of these few are
DEEP = "[" * 100_000
LONG = "9" * 400
BOOK = '{"query_doc_pairs": [{"query_text": "a", "doc_id": "1", "judgements": [{"rating": RATING}]}]}'
ASKED = '{"placeholders": {"$query": "a"}, "relevant_documents": {"1": {"gain": RATING}}}'
RATED = {
    "quepid-json": '{"queries": [{"query": "a", "ratings": {"1": RATING}}]}',
    "quepid-book": BOOK,
    "rre": f'{{"queries": [{ASKED}]}}',
    "workbench": '{"judgmentRatings": [{"query": "a", "ratings": [{"docId": "1", "rating": RATING}]}]}',
}


def test_changed_files_are_read_or_refused(tmp_path):
    """In a process of its own, which a crash would end; `make hardening` reads so many times as much."""
    done = subprocess.run(
        [sys.executable, "-m", "hardening.fuzzing", str(tmp_path), str(EACH * FULL), "0"],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=2500,
        check=False,
    )
    now = (tmp_path / "now").read_text() if (tmp_path / "now").exists() else "none"
    assert done.returncode == 0, f"{now.strip()} ended the process: {done.stderr[-1000:]}"
    lines = done.stdout.splitlines()
    assert [line for line in lines if not line.startswith("counted ")] == []
    counts = [json.loads(line.removeprefix("counted ")) for line in lines]
    assert len(counts) >= 80
    for one in counts:
        assert one["read"] + one["refused"] == EACH * FULL
        assert one["read"] == 0 if one["kind"] in SEALED else one["read"] or one["kind"] in PACKED, one
    TRIED["fuzzed files, read or refused"] += EACH * FULL * len(counts)


@pytest.mark.parametrize("form", RATED)
@pytest.mark.parametrize("rating", [LONG, DEEP])
def test_judgments_with_numbers_and_nesting_without_end(tmp_path, form, rating):
    path = tmp_path / "judged.json"
    path.write_text(RATED[form].replace("RATING", rating))
    with pytest.raises(ValueError, match=r"wanted a number|is not JSON"):
        read_judgments(path, format=form)


def test_records_with_numbers_and_nesting_without_end(tmp_path):
    path = tmp_path / "x.jsonl"
    page = {"query_id": "1", "user_query": "tv", "query_response_hit_ids": ["a"]}
    event = {"query_id": "1", "action_name": "purchase", "event_attributes": {"object": {"object_id": "a"}}}
    event["event_attributes"] |= {"dwell_time": 10**400, "conversion": 10**400}
    log = read_ubi([page], [event])
    assert log.dwell is None
    assert log.conversion.tolist() == [1.0]
    path.write_text(DEEP)
    with pytest.raises(ValueError, match="nested too deeply"):
        read_ubi([page], path)
    with pytest.raises(ValueError, match="nested too deeply"):
        read_ltr_log(path, {"1": {"7": 1}})
    with pytest.raises(ValueError, match="line 1: not an interleaved page"):
        read_duel(path)
    path.write_text(
        '{"page": {"method": "team_draft", "documents": [], "rankers": 1e999, "notes": {}}, "clicks": []}'
    )
    with pytest.raises(ValueError, match="line 1: not an interleaved page"):
        read_duel(path)
    hit = {"_id": "7", "fields": {"_ltrlog": [{"log1": [{"name": "bm25", "value": 10**400}]}]}}
    with pytest.raises(ValueError, match="must be a number"):
        read_ltr_log({"1": {"hits": {"hits": [hit]}}}, {"1": {"7": 1}})


@pytest.mark.parametrize(
    "lists", ["7\t[1]\t[0]", "[7]\tnull\t[0]", f"{DEEP}\t[1]\t[0]", f"[7]\t[1]\t[{LONG}]"]
)
def test_pages_of_ids(tmp_path, lists):
    (tmp_path / "pages").write_text(f"5\t1\t{lists}\n")
    with pytest.raises(ValueError, match=r"lists|must hold numbers"):
        read_clicks(tmp_path / "pages", format="graphcm")


@pytest.mark.parametrize("line", [f"k = {DEEP}", f"swap_rate = {LONG}", f"k = {'9' * 9000}"])
def test_settings(tmp_path, line):
    (tmp_path / "serve.toml").write_text(f'index = "i"\n{line}\n')
    with pytest.raises(ValueError, match=r"is not TOML|swap_rate"):
        Config.read(tmp_path / "serve.toml")


def test_a_table_that_begins_as_if_it_were_packed(tmp_path):
    (tmp_path / "log.csv").write_bytes(b"\x1f\x8b" + b"session,query,document,position,click\n1,q,d,1,0\n")
    with pytest.raises(ValueError, match="compressed data"):
        read_clicks(tmp_path / "log.csv")


def test_tables_of_documents(tmp_path):
    import polars

    path = tmp_path / "documents.parquet"
    polars.DataFrame({"id": range(1000), "title": ["red"] * 1000}).write_parquet(path)
    whole = path.read_bytes()
    for damaged in (b"PAR1", whole[:-200], whole[:40] + bytes(400) + whole[440:]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"documents\.parquet is damaged or not a Parquet file"):
            list(read_documents(path))


def test_a_table_with_long_numbers(tmp_path):
    (tmp_path / "t.csv").write_text("qid,label,a\n7,9223372036854775808,1\n9223372036854775809,0,2\n")
    data = rl.data.open_dataset(tmp_path / "t.csv")
    assert sorted(data.qid.tolist()) == ["7", "9223372036854775809"]
    assert data.y.max() == np.float32(2**63)


def test_every_fault_of_json_is_one_error():
    for text in (DEEP, "9" * 9000, "{", b"\xff{}", "[" * 100_000 + "]" * 100_000):
        with pytest.raises(json.JSONDecodeError):
            parse_json(text)
