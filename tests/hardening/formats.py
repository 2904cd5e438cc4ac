"""Small files of every format that is read, each with its reader."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import polars

import rankloop as rl
from data.test_broken_records import RANKING
from rankloop.cli.options.queries import read_queries
from rankloop.cli.options.runs import read_config
from rankloop.clicks import ClickLog, read_clicks, read_ubi, write_clicks
from rankloop.data import (
    Judgment,
    Judgments,
    kind_of,
    open_dataset,
    read_beir,
    read_judgments,
    read_ltr_log,
    read_msmarco,
    read_triples,
    write_dataset,
    write_judgments,
)
from rankloop.data.judging.forms import WRITERS
from rankloop.interleaving import Duel, TeamDraft, read_duel
from rankloop.search import read_documents
from rankloop.serve import Config
from rankloop.serve.desk.query_sets import read_queries as read_set

__all__ = ["Read", "formats"]

Read = Callable[[Path], object]

PAGE = {
    "query_id": "1",
    "user_query": "tv",
    "client_id": "c",
    "query_response_hit_ids": ["a", "b"],
    "timestamp": "2026-03-01T10:00:00Z",
    "query_attributes": {"experiment_id": "v"},
}
ABOUT = {"object": {"object_id": "a"}, "position": {"ordinal": 1}, "dwell_time": 3.0, "conversion": 2}
EVENT = {"action_name": "click", "query_id": "1", "timestamp": 1772359200400, "event_attributes": ABOUT}
DONE = {"event": "interaction", "id": "x", "ranking": "r1", "type": "click", "item": "i1"}
LOGGED = [{"log1": [{"name": "bm25", "value": 1.5}, {"name": "age"}]}]
ANSWER = {"hits": {"hits": [{"_id": "7", "fields": {"_ltrlog": LOGGED}}]}}
DOCUMENTS = [{"id": i, "title": f"red {i}", "price": i / 2, "tags": ["a", "b"]} for i in range(4)]
SESSION = """<s><session num="1"><interaction num="1"><query>lions</query><results><result rank="1">
<url>u1</url></result><result rank="2"><url>u2</url></result></results><clicked><click num="1"
starttime="0:01:10" endtime="0:02:00.5"><rank>2</rank></click></clicked></interaction></session></s>"""
TEXTS = {
    "table.csv": ["qid,label,a,b", "1,2,0.5,1", "1,0,0.25,3", "2,1,1,1"],
    "run": ["q1 Q0 d1 1 0.5 t", "q1 Q0 d2 2 0.25 t", "q2 Q0 d1 1 3 t"],
    "qrels": ["q1 0 d1 1", "q1 0 d2 0", "q2 0 d1 2"],
    "yandex": ["1\t0\tQ\t10\t7\t100\t101", "1\t4\tC\t101", "2\t0\tQ\t10\t7\t100"],
    "graphcm": ["5\t1\t[7, 8, 0]\t[1, 1, 0]\t[0, 1, 0]", "5\t2\t[8]\t[1]\t[0]"],
    "trec.xml": [SESSION],
    "metarank.jsonl": [RANKING, DONE],
    "ubi_queries.jsonl": [PAGE, PAGE | {"query_id": "2"}],
    "ubi_events.jsonl": [EVENT, EVENT | {"query_id": "2", "action_name": "purchase"}],
    "answers.jsonl": [{"qid": "1", "query": "tv", "answer": ANSWER}],
    "beir/corpus.jsonl": [{"_id": "d1", "title": "", "text": "red", "metadata": {"price": 3}}],
    "beir/queries.jsonl": [{"_id": "q1", "text": "shoes"}],
    "beir/qrels/test.tsv": ["query-id\tcorpus-id\tscore", "q1\td1\t1"],
    "msmarco/collection.tsv": ["7\tred shoes", "8\tblue shoes"],
    "msmarco/queries.dev.tsv": ["1\tshoes"],
    "msmarco/qrels.dev.tsv": ["1\t0\t7\t1"],
    "triples.tsv": ["shoes\tred shoes\tblue hat"],
    "queries.tsv": ["1\tred shoes", "2\thats"],
    "set.csv": ["query,weight", "red,3", '"a, b",1'],
    "run.toml": ['ranker = "lambdamart"', "[data]", "a = [1, 2.5]"],
    "serve.toml": ['index = "i"', "k = 10", "[limits]", "rate = 5"],
    "documents.jsonl": DOCUMENTS,
    "documents.csv": ["id,title,price", "1,red,2.5", '2,"a, b",1'],
    "page.html": ["<html><title>a</title><p>red <b>hat</b> &amp; <!-- x --></html>"],
    "page.md": ["---", "title: a", "---", "# red", "text [a](b)"],
}


def formats(folder: Path) -> dict[str, tuple[str, Read]]:
    """Write a file of every format into a folder; its name there and its reader, by format."""
    for name, lines in TEXTS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
        (folder / name).write_text(text + "\n")
    data = rl.synthetic(n_queries=3, docs_per_query=3, n_features=3, seed=0)
    write_dataset(data, folder / "set.txt")
    write_dataset(data, folder / "set.parquet")
    log = ClickLog([1, 1, 2], ["q", "q", "r"], ["d", "e", "d"], [1, 2, 1], [1, 0, 0])
    for name in ("log.csv", "log.jsonl", "log.parquet"):
        write_clicks(log, folder / name)
    judged = Judgments([Judgment("red shoes", "17", 3), Judgment("hat", "4", 0.5), Judgment("hat", "5", 1)])
    for form in WRITERS:
        write_judgments(judged, folder / f"judged.{form}", format=form)
    polars.DataFrame(DOCUMENTS).write_parquet(folder / "documents.parquet")
    shown = TeamDraft(seed=0).combine([list("abc"), list("bca")], k=3)
    Duel(("a", "b"), [shown], [["b"]], np.zeros((1, 2)), ["ann"]).save(folder / "duel.jsonl")

    def of_documents(path: Path) -> object:
        return list(read_documents(path))

    tables: dict[str, tuple[str, Read]] = {
        "SVMLight": ("set.txt", rl.read_svmlight),
        "Parquet": ("set.parquet", open_dataset),
        "CSV": ("table.csv", open_dataset),
        "run": ("run", rl.read_run),
        "qrels": ("qrels", rl.read_qrels),
        "clicks in CSV": ("log.csv", read_clicks),
        "clicks in JSON": ("log.jsonl", read_clicks),
        "clicks in Parquet": ("log.parquet", read_clicks),
    }
    return {
        **tables,
        **{f"kind of {kind}": (file, kind_of) for kind, (file, _) in tables.items()},
        **{f"judgments of {form}": (f"judged.{form}", read_judgments) for form in WRITERS},
        "Yandex": ("yandex", partial(read_clicks, format="yandex")),
        "GraphCM": ("graphcm", partial(read_clicks, format="graphcm")),
        "TREC sessions": ("trec.xml", partial(read_clicks, format="trec")),
        "Metarank": ("metarank.jsonl", partial(read_clicks, format="metarank")),
        "UBI queries": ("ubi_queries.jsonl", lambda path: read_ubi(path, folder / "ubi_events.jsonl")),
        "UBI events": ("ubi_events.jsonl", lambda path: read_ubi(folder / "ubi_queries.jsonl", path)),
        "answers": ("answers.jsonl", lambda path: read_ltr_log(path, {"1": {"7": 1}})),
        "interleaved pages": ("duel.jsonl", read_duel),
        "BEIR": ("beir/corpus.jsonl", lambda path: read_beir(folder / "beir")),
        "MS MARCO": ("msmarco/collection.tsv", lambda path: read_msmarco(folder / "msmarco")),
        "triples": ("triples.tsv", lambda path: list(read_triples(path))),
        "queries": ("queries.tsv", read_queries),
        "query set": ("set.csv", lambda path: read_set(path.read_text(errors="surrogateescape"))),
        "run configuration": ("run.toml", read_config),
        "service configuration": ("serve.toml", Config.read),
        "documents in JSON": ("documents.jsonl", of_documents),
        "documents in CSV": ("documents.csv", of_documents),
        "documents in Parquet": ("documents.parquet", of_documents),
        "documents in HTML": ("page.html", of_documents),
        "documents in Markdown": ("page.md", of_documents),
    }
