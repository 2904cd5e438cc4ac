"""Query sets: versions, files, samples of the log that estimate what they say, and their pages."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.serve.desk.acts import past_acts
from rankloop.serve.desk.query_sets import (
    SetQuery,
    known_sets,
    put_query_set,
    query_set,
    read_queries,
    write_queries,
)
from rankloop.serve.desk.sampling import Asked, asked_queries, drawn, sampled_queries
from rankloop.serve.desk.users import add_user
from serve.running import TOKEN, client_of
from serve.test_pages import read


def test_a_change_is_a_new_version(store):
    first = put_query_set(store, "head", [SetQuery("red  hat"), SetQuery("shoes", 2)], author="ann", made="x")
    assert (first.address, first.weighted) == ("head@1", True)
    put_query_set(store, "head", [SetQuery("shoes"), SetQuery("shoes", 2)], author="bob", made="by hand")
    assert query_set(store, "head").queries == (SetQuery("shoes", 3.0),)
    assert query_set(store, "head@1") == first
    put_query_set(store, "a.b", [SetQuery("größe")], author="bob", made="by hand")
    assert [one.address for one in known_sets(store)] == ["a.b@1", "head@2"]


@pytest.mark.parametrize(
    ("name", "queries", "message"),
    [
        ("two words", ["a"], "no blanks"),
        ("", ["a"], "1 to 60 letters"),
        ("a", [" "], "1 to 10,000 queries, got 0"),
        ("a", ["x" * 501], "at most 500 characters"),
        ("a", ["zero\0"], "zero character"),
    ],
)
def test_what_is_no_set_is_refused(store, name, queries, message):
    with pytest.raises(ValueError, match=message):
        put_query_set(store, name, map(SetQuery, queries), author="ann", made="by hand")
    assert known_sets(store) == []


@pytest.mark.parametrize("weight", [0, -1, float("nan"), float("inf")])
def test_weights_are_above_0(store, weight):
    with pytest.raises(ValueError, match="above 0"):
        put_query_set(store, "a", [SetQuery("a", weight)], author="ann", made="by hand")


def test_a_set_that_is_not_there(store):
    put_query_set(store, "head", [SetQuery("a")], author="ann", made="by hand")
    for address, message in (
        ("haed", "did you mean 'head'"),
        ("head@7", "no version '7'"),
        ("head@x", "'x'"),
    ):
        with pytest.raises(LookupError, match=message):
            query_set(store, address)


plain = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1)
texts = plain | st.text("'=+-@\uff1da", min_size=1)


@given(st.lists(st.builds(SetQuery, texts.filter(str.strip), st.floats(1e-6, 1e6), texts), min_size=1))
def test_what_is_exported_is_read_again(queries):
    written = write_queries(queries)
    assert read_queries(written) == queries
    cells = [cell for row in list(csv.reader(io.StringIO(written)))[1:] for cell in (row[0], row[2])]
    assert not [
        cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r", "\uff1d"))
    ]  # no formula


def test_files_of_people():
    assert read_queries("\ufeffred hat\n\n  \nshoes\t3\n") == [SetQuery("red hat"), SetQuery("shoes", 3.0)]
    assert read_queries("query,other\nhat,1\n,2\n") == [SetQuery("hat")]
    assert read_queries("") == []
    with pytest.raises(ValueError, match="line 2: a weight is a number above 0, got 'many'"):
        read_queries("a\t1\nb\tmany")


ASKED = [Asked(f"q{i}", count) for i, count in enumerate([500, 200, 90, 40, 20, *[9] * 10, *[1] * 60])]


@pytest.mark.parametrize("strata", [("",), ("head", "torso", "tail")])
def test_the_weighted_mean_of_a_sample_is_that_of_the_traffic(strata):
    """In 2,000 samples of 12 queries the Horvitz-Thompson estimate is right on average, within 3 errors."""
    rng = np.random.default_rng(5)
    value = {one.query: rng.random() for one in ASKED}
    pages = sum(one.people for one in ASKED)
    truth = sum(one.people * value[one.query] for one in ASKED) / pages
    found, plain = [], []
    for _ in range(2000):
        sample = drawn(ASKED, 12, rng, strata=strata)
        assert len({one.query for one in sample}) == len(sample)
        assert abs(len(sample) - 12) <= len(strata) - 1
        found.append(sum(one.weight * value[one.query] for one in sample))
        plain.append(np.mean([value[one.query] for one in sample]))
    assert abs(np.mean(found) - truth) < 3 * np.std(found) / np.sqrt(2000)
    assert abs(np.mean(plain) - truth) > 5 * np.std(plain) / np.sqrt(2000), "weights are needed"


@given(counts=st.lists(st.integers(1, 1000), max_size=30), n=st.integers(1, 40), seed=st.integers(0, 99))
def test_a_sample_is_never_larger_than_the_log(counts, n, seed):
    asked = [Asked(f"q{i}", count) for i, count in enumerate(counts)]
    sample = drawn(asked, n, np.random.default_rng(seed))
    assert len(sample) <= min(n, len(asked))
    assert len(sample) >= min(n, len(asked)) - 1  # one may be lost to rounding
    assert all(one.weight > 0 for one in sample)
    if n >= len(asked) > 0:
        assert sum(one.weight for one in sample) == pytest.approx(1)


def test_a_person_counts_once_for_a_query(store, page, click):
    store.put_pages([page("hat", user="ann") for _ in range(50)])
    store.put_pages([page("shoes", user=f"u{i}") for i in range(3)])
    store.put_pages([page("shoes"), page("bots", bot=True)])
    assert asked_queries(store) == [Asked("hat", 1), Asked("shoes", 4)]
    assert asked_queries(store, since=5000.0) == []


def test_the_failing_queries_are_those_without_clicks(store, page, click):
    shown = [page("hat", user=f"u{i}") for i in range(5)] + [page("shoes", user=f"v{i}") for i in range(9)]
    store.put_pages(shown)
    store.put_events([click(one, "a") for one in shown[5:]])
    assert sampled_queries(store, "failing", 10) == [SetQuery("hat", 5.0, "failing")]
    with pytest.raises(ValueError, match="nobody searched"):
        sampled_queries(store, "frequency", 10, since=9e9)
    with pytest.raises(ValueError, match="unknown way to sample 'best'"):
        sampled_queries(store, "best", 10)
    assert len(sampled_queries(store, "stratified", 10)) == 2


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    with client_of(tmp_path_factory.mktemp("sets")) as pair:
        yield pair


def logged_in(client, token=TOKEN):
    client.cookies.clear()
    assert client.post("/login", data={"token": token}).status_code == 303
    page = read(client.get("/queries"))
    return {"form_token": next(iter(page.all("input", name="form_token")), {"value": ""})["value"]}


def test_a_set_by_hand_shown_changed_and_exported(desk):
    client, service = desk
    client.cookies.clear()
    assert "administration token" in read(client.get("/queries"), 401).text
    ours = logged_in(client)
    fields = ours | {"name": "evil", "queries": '<script>alert(1)</script>\nred "hat"\t2\n'}
    kept = client.post("/queries", data=fields)
    assert kept.headers["location"] == "/queries/evil%401"
    page = read(client.get("/queries/evil@1"))
    assert "2 queries, by hand, by admin" in page.text
    exported = client.get("/queries/evil/export")
    assert exported.headers["content-type"].startswith("text/csv")
    assert read_queries(exported.text) == list(query_set(service.store, "evil").queries)
    again = ours | {"name": "evil", "queries": "hat", "file": "mine.csv"}
    assert client.post("/queries", data=again).headers["location"] == "/queries/evil%402"
    assert "from the file mine.csv" in read(client.get("/queries")).text
    assert past_acts(service.store)[0].detail == {"set": "evil@2", "made": "from the file mine.csv"}
    assert read(client.get("/queries/nothing"), 404)


def test_a_mistake_keeps_what_was_typed(desk):
    client, _ = desk
    ours = logged_in(client)
    page = read(client.post("/queries", data=ours | {"name": "my set", "queries": "red hat"}), 400)
    assert "no blanks" in page.text
    assert page.all("input", name="name", value="my set")
    assert "red hat" in page.text
    page = read(client.post("/queries/sample", data=ours | {"name": "s", "way": "frequency", "n": "x"}), 400)
    assert "N is a whole number from 0, got 'x'" in page.text
    assert page.all("input", name="name", value="s")


def test_a_set_from_the_log(desk, page):
    client, service = desk
    service.store.put_pages([page("red hat", user=f"u{i}", shown=1e9) for i in range(5)])
    ours = logged_in(client)
    fields = ours | {"name": "asked", "way": "frequency", "n": "50", "days": "0", "seed": "7"}
    assert client.post("/queries/sample", data=fields).status_code == 303
    assert query_set(service.store, "asked").queries == (SetQuery("red hat", 1.0),)
    assert query_set(service.store, "asked").made == "frequency sample of 1 queries of all days, seed 7"


def test_readers_look_and_do_not_change(desk):
    client, service = desk
    ours = logged_in(client, add_user(service.store, "ron", "reader"))
    assert ours == {"form_token": ""}, "there is no form for readers"
    answer = read(client.post("/queries", data={"name": "a", "queries": "hat"}), 403)
    assert "needs the role 'judge', and ron is a reader" in answer.text.replace("’", "'").replace(
        "&#39;", "'"
    )
