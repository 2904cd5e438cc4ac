"""Judging at the desk: pools that tell nothing, grades kept at once, several raters, files, forgetting."""

import json

import pytest

from rankloop.data import read_judgments
from rankloop.search import Deadline
from rankloop.serve.desk.judging import judging, usual_versions
from rankloop.serve.desk.judgment_files import FORMATS, judgments_of_text, text_of_judgments
from rankloop.serve.desk.query_sets import SetQuery, put_query_set
from rankloop.serve.desk.users import add_user, remove_user
from rankloop.serve.events.store import Rating
from serve.running import ADMIN, TOKEN, another, client_of
from serve.test_pages import read

JSON = {"accept": "application/json"}


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    with client_of(tmp_path_factory.mktemp("judging"), swap_rate=0.0) as (client, service):
        another(service)
        queries = [SetQuery(one) for one in ("red hat", "running shoes", "polish")]
        put_query_set(service.store, "few", queries, author="admin", made="by hand")
        yield client, service, {name: add_user(service.store, name, "judge") for name in ("ann", "bob")}


def log_in(client, token=TOKEN):
    """The token of a form of somebody who logged in."""
    client.cookies.clear()
    assert client.post("/login", data={"token": token}).status_code == 303
    found = read(client.get("/judge", params={"set": "few", "q": "red hat"})).all("input", name="form_token")
    return found[0]["value"]


def give(client, token, document, grade, *, query="red hat", **more):
    fields = {"form_token": token, "set": "few", "q": query, "document": document, "grade": grade} | more
    return client.post("/judge", data=fields, headers=JSON)


def pool(client, query="red hat"):
    page = read(client.get("/judge", params={"set": "few", "q": query}))
    return [one["data-document"] for one in page.all("li") if "data-document" in one]


def test_the_pool_has_both_versions_in_an_order_of_its_own(desk):
    client, service, tokens = desk
    log_in(client, tokens["ann"])
    ann = pool(client)
    shown = service.rankings.tops(usual_versions(service), ["red hat"], Deadline(9))["red hat"]
    assert len(shown) == 2
    assert set(ann) == set(shown[0]) | set(shown[1])
    assert pool(client) == ann, "the order stays"
    log_in(client, tokens["bob"])
    assert set(pool(client)) == set(ann)
    assert pool(client) != ann, "and is another one for each rater"


def test_grades_are_kept_at_once_and_move_the_scores(desk):
    client, service, tokens = desk
    token = log_in(client, tokens["ann"])
    first = read(client.get("/judge", params={"set": "few"}))
    assert "0.0 % of the shown documents are judged" in first.text
    documents = pool(client)
    answer = give(client, token, documents[0], "3", reason="just <this>")
    assert answer.status_code == 200
    assert 'data-version="v1"' in answer.json()["scores"]
    [kept] = service.store.ratings(["red hat"])
    assert (kept.document, kept.rater, kept.grade, kept.reason) == (documents[0], "ann", 3.0, "just <this>")
    for document in documents[1:]:
        scores = give(client, token, document, "0").json()["scores"]
    assert "0.0 % of the shown" not in scores
    page = read(client.get("/judge", params={"set": "few", "q": "red hat"}))
    assert len(page.all("button", value="0", **{"aria-pressed": "true"})) == len(documents) - 1
    assert page.all("input", name="reason", value="just <this>")
    give(client, token, documents[0], "unsure")
    assert documents[0] not in service.store.judgments()["red hat"]
    assert give(client, token, documents[0], "2").status_code == 200


def test_undo_says_what_counts_again(desk):
    client, service, tokens = desk
    token = log_in(client, tokens["ann"])
    document = pool(client, "polish")[0]
    fields = {"form_token": token, "set": "few", "q": "polish"}
    give(client, token, document, "1", query="polish")
    give(client, token, document, "3", query="polish")
    told = client.post("/judge/undo", data=fields, headers=JSON).json()
    assert (told["document"], told["grade"]) == (document, "1")
    told = client.post("/judge/undo", data=fields, headers=JSON).json()
    assert (told["document"], told["grade"]) == (document, "")
    assert service.store.ratings(["polish"]) == []
    back = client.post("/judge", data=fields | {"document": document, "grade": "2"})
    assert (back.status_code, back.headers["location"]) == (303, "/judge?set=few&q=polish")


def test_two_raters_agree_or_not_and_one_leaves(desk):
    client, service, tokens = desk
    documents = pool(client, "running shoes") if log_in(client, tokens["ann"]) else []
    for name, grades in (("ann", "3201"), ("bob", "3210")):
        token = log_in(client, tokens[name])
        for document, grade in zip(documents, grades, strict=False):
            give(client, token, document, grade, query="running shoes")
    found = judging(service, "few", (), Deadline(9))
    assert found.agreement().items == 4
    [(one, two, kappa)] = found.pairs()
    assert {one, two} == {"ann", "bob"}
    assert (kappa.items, kappa.value) == (4, pytest.approx(0.8))
    assert "4 documents of 2 raters" in read(client.get("/judge", params={"set": "few"})).text
    remove_user(service.store, "bob")
    assert read(client.get("/judge"), 401), "the login ends with the user"
    assert judging(service, "few", (), Deadline(9)).agreement().raters == 2, "what was judged stays"
    tokens["bob"] = add_user(service.store, "bob", "judge")


@pytest.mark.parametrize(
    ("change", "status", "message"),
    [
        ({"grade": "4"}, 400, "a grade is 0, 1, 2, 3 or unsure, got '4'"),
        ({"document": "nowhere"}, 400, "only a document of the index"),
        ({"q": "another"}, 400, "is not in the set few"),
        ({"set": "nothing"}, 404, "unknown query set"),
        ({"reason": "x" * 2001}, 400, "at most 2000 characters"),
        ({"form_token": "x"}, 403, "does not belong to your login"),
    ],
)
def test_what_is_no_judgment_is_refused(desk, change, status, message):
    client, service, tokens = desk
    token = log_in(client, tokens["ann"])
    before = service.store.ratings()
    fields = {"form_token": token, "set": "few", "q": "red hat", "document": "2", "grade": "1"} | change
    answer = client.post("/judge", data=fields)
    assert answer.status_code == status
    assert message.lower() in answer.headers["x-problem"].lower()
    assert service.store.ratings() == before


def test_visitors_and_readers_do_not_judge(desk):
    client, service, _ = desk
    client.cookies.clear()
    assert client.post("/judge", data={"grade": "1"}).status_code == 403
    assert read(client.get("/judge?set=few"), 401)
    client.post("/login", data={"token": add_user(service.store, "ron", "reader")})
    page = read(client.get("/judge", params={"set": "few", "q": "red hat"}))
    assert not page.all("button", name="grade")
    assert read(client.get("/judge", params={"set": "few", "q": "none of it"}), 404)


def test_the_next_document_is_offered(desk):
    client, _, tokens = desk
    log_in(client, tokens["ann"])
    page = read(client.get("/judge", params={"set": "few"}))
    [link] = [one["href"] for one in page.all("a") if "#next" in one["href"]]
    there = read(client.get(link.partition("#")[0]))
    assert len(there.all("li", id="next")) == 1


RATINGS = [
    Rating("red hat", "a b", "ann", 3.0, "exact"),
    Rating("red hat", "a b", "bob", 2.0),
    Rating("50% off", "c", "ann", 0.0),
    Rating("50% off", "d", "ann", None),
]


@pytest.mark.parametrize("format", FORMATS)
def test_files_go_out_and_come_back(format):
    again = judgments_of_text(text_of_judgments(RATINGS, format), "mine", lambda id: id in ("a b", "c"))
    means = {}
    for one in again:
        means.setdefault((one.query, one.document), []).append(one.grade)
    assert {key: sum(every) / len(every) for key, every in means.items()} == {
        ("red hat", "a b"): 2.5,
        ("50% off", "c"): 0.0,
    }
    assert {one.source for one in again} == {"file mine"}
    if format == "quepid-book":
        assert {one.rater for one in again} == {"ann", "bob"}
        assert again[0].reason == "exact"


def test_judgments_in_and_out_over_the_page(desk, tmp_path):
    client, service, _ = desk
    token = log_in(client)
    case = "query,doc_id,rating\nimported query,1,3\nimported query,2,0\n"
    fields = {"form_token": token, "judgments": case, "file": "case.csv"}
    assert client.post("/judge/import", data=fields).status_code == 303
    assert service.store.judgments()["imported query"] == {"1": 3.0, "2": 0.0}
    assert {one.rater for one in service.store.ratings(["imported query"])} == {"file case.csv"}
    wrong = read(client.post("/judge/import", data=fields | {"judgments": "no judgments at all"}), 400)
    assert "cannot tell which judgments" in wrong.text.lower()
    assert "no judgments at all" in wrong.text, "what was typed stays"
    path = tmp_path / "out.json"
    path.write_text(client.get("/judge/export", params={"format": "quepid-book"}).text)
    assert "file case.csv" in read_judgments(path).raters
    assert read(client.get("/judge/export", params={"format": "pdf"}), 400)


def test_a_judge_may_not_write_in_the_name_of_others(desk):
    client, _, tokens = desk
    token = log_in(client, tokens["ann"])
    fields = {"form_token": token, "judgments": "query,doc_id,rating\na,1,3\n", "file": "x"}
    assert client.post("/judge/import", data=fields).status_code == 403


def test_forgetting_reaches_judgments(desk):
    client, service, _ = desk
    token = log_in(client, add_user(service.store, "carl", "judge"))
    assert give(client, token, "2", "1").status_code == 200
    assert "carl" in {one.rater for one in service.store.ratings()}
    assert client.post("/forget", json={"user": "carl"}, headers=ADMIN).json() == {"pages": 0}
    assert "carl" not in {one.rater for one in service.store.ratings()}


def test_visitors_of_the_former_page_are_not_named(desk):
    client, service, _ = desk
    service.store.put_judgment("old", "1", 2.0, "0" * 32, source="thumb")
    log_in(client)
    book = client.get("/judge/export", params={"format": "quepid-book"}).text
    assert "0" * 32 not in book
    assert "visitors" in json.dumps(json.loads(book))
