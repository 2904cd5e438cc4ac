"""Pins, boosts and hides: after ranking, noted on the page, left out of learning and credit, and they end."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.clicks import ClickLog
from rankloop.search import Candidates
from rankloop.serve.desk.acts import past_acts
from rankloop.serve.desk.click_values import click_values
from rankloop.serve.desk.field_value import check_value
from rankloop.serve.desk.hands import Hands, Rule, add_rule, end_rule, known_rules
from rankloop.serve.desk.place_by_hand import place_by_hand
from rankloop.serve.events.shown_page import swap
from rankloop.serve.http.schema import SearchRequest
from rankloop.serve.http.schema_admin import ExperimentRequest
from serve.running import TOKEN, another, client_of, make_index, wait_until
from serve.test_pages import FIREFOX, read


def rule(kind, document, value=None, pattern="*", field="", wanted=""):
    id = f"{kind}{document}{field}{wanted}"
    return Rule(id, kind, pattern, document, value, 0.0, 9e9, "ann", "", field, wanted)


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    return make_index(tmp_path_factory.mktemp("pins"), copies=2)


def naive(order, rules, k, known):
    """The definition on lists: hide, then boost in order of time, then pin from the top."""
    order = [one for one in order if one not in {r.document for r in rules if r.kind == "hide"}]
    hidden = {r.document for r in rules if r.kind == "hide"}
    for r in rules:
        if r.kind == "boost" and r.document in order:
            at = order.index(r.document)
            order = order[:at] + order[at + 1 :]
            order = [*order[: max(0, at - r.value)], r.document, *order[max(0, at - r.value) :]]
    pins = {r.document: r.value for r in rules if r.kind == "pin" and r.document not in hidden}
    for document in sorted(pins, key=lambda one: pins[one]):
        if document in known:
            order = [one for one in order if one != document]
            order = [*order[: pins[document] - 1], document, *order[pins[document] - 1 :]]
    return order[:k]


rules_of = st.lists(
    st.builds(
        rule, st.sampled_from(["pin", "boost", "hide"]), st.integers(0, 11).map(str), st.integers(1, 10)
    ),
    max_size=5,
    unique_by=lambda one: one.document,
)


@given(rules=rules_of, found=st.permutations(range(12)), n=st.integers(1, 12), fetch=st.booleans())
def test_rules_are_the_definition(index, rules, found, n, fetch):
    ids = [str(one) for one in found[:n]]
    ranked = Candidates.of("hat", index.snapshot, ids)
    look_up = (lambda some: Candidates.of("hat", index.snapshot, some)) if fetch else None
    made = place_by_hand(ranked, rules, 5, look_up)
    wanted = naive(ids, rules, 5, {str(i) for i in range(12)} if fetch else set(ids))
    assert [str(one) for one in made.found.ids.tolist()][:5] == wanted
    assert not set(made.placed) & {one.document for one in rules if one.kind == "hide"}


BRANDS = ("Hare", "Tortoise")  # of even and of odd documents


@given(found=st.permutations(range(12)), ranks=st.integers(1, 10), brand=st.sampled_from(BRANDS))
def test_a_rule_by_value_is_for_all_that_have_it(index, found, ranks, brand):
    ids = [str(one) for one in found]
    has = [BRANDS[int(one) % 2] == brand for one in ids]
    ranked = Candidates.of("hat", index.snapshot, ids)

    def order(kind, wanted=brand, field="brand"):
        made = place_by_hand(ranked, [rule(kind, "", ranks, field=field, wanted=wanted)], 5, None)
        return [str(one) for one in made.found.ids.tolist()], made

    hidden, made = order("hide", brand.upper())
    assert hidden == [one for one, meant in zip(ids, has, strict=True) if not meant]
    boosted, made = order("boost")
    assert set(made.placed) == {one for one, meant in zip(ids, has, strict=True) if meant}
    for one, meant in zip(ids, has, strict=True):
        before, after = ids.index(one), boosted.index(one)
        assert after <= before if meant else after >= before
        assert before - after <= ranks
    for group in (True, False):  # nobody overtakes their like
        mine = [one for one, meant in zip(ids, has, strict=True) if meant == group]
        assert [one for one in boosted if one in mine] == mine
    pinned, made = order("pin")
    best = next(one for one, meant in zip(ids, has, strict=True) if meant)
    assert pinned[ranks - 1] == best
    assert made.placed == (best,)
    cheap, _ = order("hide", "..40", "price")
    assert cheap == [one for one in ids if int(one) * 10 > 40]
    late, _ = order("hide", "2015..", "added")
    assert late == [one for one in ids if int(one) % 10 < 5]
    assert order("hide", "x", "gone")[0] == ids, "a field that the index has no more"


@pytest.mark.parametrize(
    ("field", "wanted", "wrong"),
    [
        ("brandd", "x", "brand"),
        ("title", "x", "title"),
        ("brand", " ", "it is empty"),
        ("price", "cheap", "10 or 10..20"),
        ("added", "soon", "2024-05-31"),
    ],
)
def test_values_that_no_document_can_have_are_refused(index, field, wanted, wrong):
    with pytest.raises(ValueError, match=wrong):
        check_value(index.fields, field, wanted)


def test_rules_are_kept_and_end(store):
    kept = add_rule(store, "pin", " Red   hat ", "d1", value=2, days=1, who="ann", reason="sale")
    add_rule(store, "hide", '"shoes"', "d2", who="bob")
    hands = Hands(store)
    assert hands.matching("red hat") == [], "nothing is read yet"
    hands.reload()
    assert hands.matching("red HAT") == [kept]
    assert [one.document for one in hands.matching("blue shoes")] == ["d2"]
    assert hands.matching("red hat", now=time.time() + 86_500) == [], "it ends by itself"
    end_rule(store, kept.id)
    assert [one.document for one in known_rules(store)] == ["d2"]
    assert [one.document for one in known_rules(store, ended=True)] == ["d1"]
    with pytest.raises(LookupError, match="there is no rule 'x'"):
        end_rule(store, "x")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kind": "promote"}, "unknown kind of rule 'promote'"),
        ({"pattern": '""'}, "a rule is for a query"),
        ({"document": ""}, "names a document by its id"),
        ({"field": "brand", "wanted": "x"}, "got both"),
        ({"days": 0}, "at most 366 days, got 0"),
        ({"days": 400}, "at most 366 days, got 400"),
        ({"value": None}, "the rank of a pin is a whole number from 1 to 10, got None"),
        ({"value": 1.5}, "got 1.5"),
        ({"kind": "boost", "value": 99}, "the ranks of a boost"),
        ({"reason": "x" * 501}, "at most 500 characters"),
    ],
)
def test_wrong_rules_are_refused(store, given, message):
    usual = {"kind": "pin", "pattern": "hat", "document": "d", "value": 1, "who": "ann"} | given
    with pytest.raises(ValueError, match=message):
        add_rule(store, usual.pop("kind"), usual.pop("pattern"), usual.pop("document"), **usual)
    assert known_rules(store) == []


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    with client_of(tmp_path_factory.mktemp("placed"), swap_rate=1.0) as (client, service):
        client.headers["user-agent"] = FIREFOX
        yield client, service


def shown(service, query, **more):
    answer = service.search(SearchRequest(query=query, user="u", user_agent=FIREFOX, **more))
    return [one.id for one in answer.results], answer


def test_a_pin_is_shown_noted_and_not_learned_from(desk):
    _, service = desk
    polish = "4"  # shoe polish, which no search for hats finds
    add_rule(service.store, "pin", "green hat", polish, value=1, who="ann")
    service.hands.reload()
    for _ in range(30):
        ids, answer = shown(service, "green hat")
        assert ids[0] == polish, "it is never exchanged"
    wait_until(lambda: service.store.click_frame(include_bots=True).height > 0)
    wait_until(lambda: service.recorder.spool.waiting == 0)
    frame = service.store.click_frame(include_bots=True)
    mine = frame.filter(frame["query"] == "green hat")
    assert polish not in mine["document"].to_list()
    assert mine["position"].min() == 2, "the others keep their ranks"
    page_id = service.recorder.signer.open(answer.impression)
    page = service.store.page(page_id)
    assert page.documents[0] == polish
    assert page.randomness["hands"] == {"placed": [polish], "hidden": []}
    assert np.isfinite(page.features[0]).any(), "features are computed for it"
    assert ClickLog.from_store(service.store, include_bots=True).n_pages >= 30


def test_hides_boosts_and_filters(desk):
    _, service = desk
    before, _ = shown(service, "running", record=False)
    add_rule(service.store, "hide", "running", before[0], who="ann")
    add_rule(service.store, "boost", '"running"', before[4], value=2, who="ann")
    add_rule(service.store, "pin", "running", "4", value=1, who="ann")
    service.hands.reload()
    after, _ = shown(service, "running", record=False)
    assert after[0] == "4"
    assert before[0] not in after
    assert len(after) == len(before)
    assert after.index(before[4]) < before.index(before[4])
    ids, _ = shown(service, "running", filters={"brand": "Tortoise"}, record=False)
    assert "4" not in ids, "a pin does not pass a filter that the document does not"
    raw = [one.id for one in service.searcher.compare("running", ["v1"], 10).sides[0].results]
    assert raw == before, "comparisons are of rankers, not of hands"


def test_what_stands_by_hand_on_a_following_page_is_not_learned_from(desk):
    _, service = desk
    first, _ = shown(service, "shoes", k=3, record=False)
    every, _ = shown(service, "shoes", k=10, record=False)
    low = every[4]
    add_rule(service.store, "boost", "shoes", low, value=1, who="ann")
    service.hands.reload()
    _, answer = shown(service, "shoes", k=3)
    following, _ = shown(service, "shoes", k=3, page=2, impression=answer.impression)
    assert low in following
    assert low not in first
    wait_until(lambda: service.recorder.spool.waiting == 0)
    frame = service.store.click_frame(include_bots=True)
    mine = frame.filter(frame["query"] == "shoes")
    assert mine["position"].max() > 3, "the following page is in the log"
    assert low not in mine["document"].to_list()


def test_both_rankings_of_an_experiment_are_placed_alike(desk):
    _, service = desk
    version = another(service)
    add_rule(service.store, "pin", "red shoes", "4", value=1, who="ann")
    service.hands.reload()
    started = service.versions.start_experiment(ExperimentRequest(a="v1", b=version, share=1.0))
    try:
        ids, answer = shown(service, "red shoes")
        assert ids[0] == "4"
        assert answer.ranker == f"v1 + {version}"
    finally:
        service.versions.end_experiment(started.id)


def test_clicks_on_what_was_placed_give_no_credit(store, page, click):
    hands = {"hands": {"placed": ["a"], "hidden": []}}
    one = page("hat", "abc", user="u", experiment="e", policy="ab", randomness=hands)
    plain = page("hat", "abc", user="v", experiment="e", policy="ab")
    store.put_pages([one, plain])
    store.put_events([click(one, "a"), click(one, "b"), click(plain, "a")])
    assert {page.user: page.clicked for page in store.credits("e")} == {"u": ("b",), "v": ("a",)}
    assert store.click_frame().filter(store.click_frame()["user"] == "u")["document"].to_list() == ["b", "c"]
    assert click_values(store, ["hat"], None).attraction["hat"] == {"a": 1.0, "b": 0.5, "c": 0.0}


def test_swaps_on_a_page_with_a_pin_stay_readable(store, page):
    drawn = swap(2, 3, swapped=True) | {"hands": {"placed": ["a"], "hidden": []}}
    store.put_pages([page("hat", "abc", policy="swap", randomness=drawn)])
    frame = store.click_frame()
    assert frame.select("document", "position", "original_position").rows() == [("b", 2, 3), ("c", 3, 2)]


def test_the_page_sets_and_ends_rules(desk):
    client, service = desk
    client.cookies.clear()
    assert read(client.get("/pins"), 401)
    client.post("/login", data={"token": TOKEN})
    page = read(client.get("/pins", params={"q": "polish", "document": "3"}))
    assert page.all("input", name="pattern", value="polish")
    ours = {"form_token": page.all("input", name="form_token")[0]["value"]}
    fields = ours | {
        "kind": "hide",
        "pattern": "polish",
        "document": "3",
        "days": "7",
        "value": "",
        "reason": "x",
    }
    assert client.post("/pins", data=fields).status_code == 303
    [mine] = [one for one in known_rules(service.store) if one.pattern == "polish"]
    assert (mine.kind, mine.who, round((mine.until - mine.time) / 86_400)) == ("hide", "admin", 7)
    assert past_acts(service.store)[0].act == "hide"
    assert "3" not in shown(service, "polish", record=False)[0]
    assert client.post("/pins/end", data=ours | {"rule": mine.id}).status_code == 303
    assert mine.id not in {one.id for one in known_rules(service.store)}
    wrong = read(client.post("/pins", data=fields | {"document": "nowhere"}), 400)
    assert "No document 'nowhere' is in the index" in wrong.text
    assert wrong.all("input", name="document", value="nowhere")
    assert read(client.post("/pins", data=fields | {"days": "many"}), 400)
    assert client.post("/pins", data={"kind": "hide"}).status_code == 403
    search = read(client.get("/", params={"q": "polish"}))
    assert [one for one in search.all("a") if one.get("href", "").startswith("/pins?q=polish&document=")]


def test_a_brand_is_boosted_from_the_page_for_all_queries_and_noted(desk):
    client, service = desk
    client.post("/login", data={"token": TOKEN})
    page = client.get("/pins").text
    assert '<option value="brand">brand</option>' in page
    token = page.partition('name="form_token" value="')[2].partition('"')[0]
    fields = {"form_token": token, "kind": "boost", "pattern": "*", "value": "3", "days": "2"}
    wrong = client.post("/pins", data={**fields, "field": "price", "wanted": "dear"})
    assert wrong.status_code == 400
    assert "its value is like 10 or 10..20" in wrong.text
    assert 'value="dear"' in wrong.text, "what was typed stays"
    before, _ = shown(service, "running", record=False)
    assert client.post("/pins", data={**fields, "field": "brand", "wanted": "tortoise"}).status_code == 303
    assert "brand = tortoise" in client.get("/pins").text
    after, answer = shown(service, "running")
    ranks = [[at for at, one in enumerate(page) if int(one) % 2] for page in (before, after)]
    assert all(new <= old for old, new in zip(*ranks, strict=False))
    assert len(ranks[1]) > len(ranks[0]) or sum(ranks[1]) < sum(ranks[0])
    service.recorder.spool.drain(service.store)
    page_id = service.recorder.page_of(answer.impression)
    placed = service.store.page(page_id).randomness["hands"]["placed"]
    boosted = {one for one in after if int(one) % 2}
    assert boosted
    assert boosted <= set(placed)
    act = past_acts(service.store, 1)[0]
    assert (act.act, act.detail["document"]) == ("boost", "brand = tortoise")
    end_rule(service.store, known_rules(service.store)[-1].id)
    service.hands.reload()
