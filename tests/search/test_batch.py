"""Many queries at once: the same results as one after another, as a run, and on the command line."""

import json
import threading

import numpy as np
import pytest

import rankloop as rl
from commands import app_of, running
from rankloop.cli.fuse import fuse
from rankloop.cli.search import search
from rankloop.data import read_run
from rankloop.rankers import FeatureSum
from rankloop.search import BM25, Features, Index, Query, diversify, first

WORDS = [f"word{number}" for number in range(40)]


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    random = np.random.default_rng(0)
    fields = {"title": "text", "body": "text", "genre": "keyword", "price": "number"}
    index = Index.create(tmp_path_factory.mktemp("batch") / "shop.index", fields)
    index.add(
        {
            "id": f"d{number}",
            "title": " ".join(random.choice(WORDS, 3)),
            "body": " ".join(random.choice(WORDS, 12)),
            "genre": ["home", "sport"][number % 2],
            "price": number,
        }
        for number in range(400)
    )
    index.commit()
    return index


@pytest.fixture(scope="module")
def queries():
    random = np.random.default_rng(1)
    return {f"q{number}": " ".join(random.choice(WORDS, 2)) for number in range(60)} | {"none": "zzz"}


@pytest.fixture
def run():
    return running(app_of(search, fuse))


def test_threads_give_what_one_after_another_gives(shop, queries):
    features = Features(["bm25(title)", "bm25(body)"])
    ranker = FeatureSum({"bm25(title)": 2.0, "bm25(body)": 1.0}, features=features.names)
    search = shop.retriever(k=50) >> features >> ranker >> first(20)
    alone = search.run(queries, threads=1)
    for threads in (None, 2, 7):
        assert np.array_equal(search.run(queries, threads=threads).docid, alone.docid)
    wanted = {qid: [str(id) for id in search(text).ids.tolist()] for qid, text in queries.items()}
    assert {qid: list(alone[qid]) for qid in alone.qid.tolist()} == {
        q: ids for q, ids in wanted.items() if ids
    }
    assert alone["q1"][wanted["q1"][0]] == 20.0
    assert "none" not in alone.qid.tolist()


def test_own_scores_are_those_of_the_last_stage(shop, queries):
    search = shop.retriever(k=50) >> first(20)
    run = search.run(queries, scores="own")
    found = search(queries["q3"])
    assert run["q3"] == dict(zip(found.ids.tolist(), found.scores.tolist(), strict=True))
    mixed = shop.retriever(k=50) >> diversify(by="genre", lambda_=0.2)
    with pytest.raises(ValueError, match=r"rise down the list.*scores='positions'"):
        mixed.run(queries, scores="own", threads=1)
    assert len(mixed.run(queries).docid)
    with pytest.raises(ValueError, match="unknown scores 'ranks'"):
        search.run(queries, scores="ranks")
    with pytest.raises(ValueError, match="threads are 1 or more"):
        search.run(queries, threads=0)


def test_functions_of_users_are_called_by_one_thread(shop, queries):
    seen = set()

    def mine(found):
        seen.add(threading.get_ident())
        return found

    (shop.retriever(k=5) >> mine).run(queries)
    assert seen == {threading.get_ident()}


def test_an_error_in_a_thread_is_the_error_of_the_run(shop):
    search = shop.retriever(k=5) >> first(3)
    with pytest.raises(ValueError, match="a query is text or a Query"):
        search.run({f"q{n}": 7 if n == 30 else "word1" for n in range(100)}, threads=4)


def test_runs_on_the_command_line_and_their_fusion(shop, queries, tmp_path, run):
    source = tmp_path / "queries.tsv"
    source.write_text("".join(f"{qid}\t{text}\n" for qid, text in queries.items()))
    printed = run("search", shop.path, "--queries", source, "--out", tmp_path / "bm25.run")
    assert "61 queries" in printed
    assert "nothing was found for 1 of them" in printed
    words = read_run(tmp_path / "bm25.run")
    plain = {qid: Query.of_words(text) for qid, text in queries.items()}
    ours = (shop.retriever(k=1000, typos="missing") >> first(1000)).run(plain, scores="own")
    assert words.qid.tolist() == ours.qid.tolist()
    assert words.docid.tolist() == ours.docid.tolist()
    assert np.allclose(words.scores, ours.scores)
    told = json.loads(
        run("search", shop.path, "--queries", source, "--out", tmp_path / "title.run", "--fields", "title:1",
            "-k", 20, "--json")
    )  # fmt: skip
    assert told["queries"] == 61
    both = [tmp_path / "bm25.run", tmp_path / "title.run"]
    for method in ("rrf", "comb_sum"):
        run("fuse", *both, "--method", method, "--out", tmp_path / "fused.run", "-k", 30)
        wanted = rl.fuse([read_run(one) for one in both], method=method, k=30)
        fused = read_run(tmp_path / "fused.run")
        assert fused.docid.tolist() == wanted.docid.tolist()
    title = (shop.retriever(k=20, model=BM25(fields={"title": 1.0}), typos="missing") >> first(20)).run(
        plain, scores="own"
    )
    assert read_run(tmp_path / "title.run").docid.tolist() == title.docid.tolist()


def test_queries_from_standard_input(shop, tmp_path, run):
    run(
        "search",
        shop.path,
        "--queries",
        "-",
        "--out",
        tmp_path / "a.run",
        stdin="1\tword1\r\n\n2\tword2 -word3\n",
    )
    found = read_run(tmp_path / "a.run")
    assert found.qid.tolist() == ["1", "2"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 word1\n", "line 1: wanted an id, a tab and the query"),
        ("1\ta\n1\tb\n", "line 2: query '1' appears twice"),
        ("\n", "has no queries"),
        ("a b\tword1\n", "query id 'a b' has blanks"),
    ],
)
def test_files_of_queries_that_are_none(shop, tmp_path, run, text, message):
    source = tmp_path / "q.tsv"
    source.write_text(text)
    with pytest.raises(ValueError, match=message):
        run("search", shop.path, "--queries", source, "--out", tmp_path / "x.run")
    assert not (tmp_path / "x.run").exists()


def test_pages_filters_facets_and_order_on_the_command_line(shop, run):
    def ask(*more):
        return json.loads(run("search", shop.path, *more, "--json"))

    whole = ask("word1", "-k", 30)
    second = ask("word1", "--page", 2)
    assert [hit["id"] for hit in second["hits"]] == [hit["id"] for hit in whole["hits"][10:20]]
    assert [hit["rank"] for hit in second["hits"]] == list(range(11, 21))
    assert ask("word1", "--offset", 10)["hits"] == second["hits"]
    dear = ask("--sort", "-price", "--filter", "genre=sport", "--filter", "price=..99", "--facet", "genre")
    assert [hit["document"]["price"] for hit in dear["hits"]] == list(range(99, 79, -2))
    assert dear["facets"] == {"genre": {"home": 50, "sport": 50}}
    assert dear["matches"] == 50
    assert ask("--filter", "genre=sport", "--filter", "genre=home")["matches"] == 400
    assert "genre: home" in run("search", shop.path, "word1", "--facet", "genre")
    assert ask("wordd1 xyzzy")["understood"] is None
