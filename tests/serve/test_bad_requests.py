"""Bad requests to every route, generated from the API's own schema: one clear sentence and a 4xx each."""

import copy
import json

import pytest
from fastapi import FastAPI

from rankloop.serve.http import documents, experiments, health, models, search, ubi
from rankloop.serve.web_settings import WebSettings
from serve.running import ADMIN, client_of

MARK = "zzyzx"  # in whatever is sent; no answer may repeat it but as a name that is not known
METHODS = ("get", "put", "post", "patch", "delete")
ROUTERS = (search, documents, models, experiments, health, ubi)


def schema():
    app = FastAPI(generate_unique_id_function=lambda route: route.name)
    for one in ROUTERS:
        app.include_router(one.router)
    return app.openapi()


API = schema()
OPERATIONS = {
    found["operationId"]: (method, path, found)
    for path, methods in API["paths"].items()
    for method, found in methods.items()
}


def resolved(one):
    while "$ref" in one:
        one = API["components"]["schemas"][one["$ref"].rsplit("/", 1)[1]]
    return one


def kinds(one):
    """The alternatives of a schema, without null."""
    one = resolved(one)
    parts = [kind for part in one.get("anyOf", ()) for kind in kinds(part)]
    return parts or ([] if one.get("type") == "null" else [one])


def right(one):
    """A value that fits a schema."""
    one = resolved(one)
    if "examples" in one or "example" in one:
        return copy.deepcopy(one["examples"][0] if "examples" in one else one["example"])
    one = kinds(one)[0]
    if "enum" in one or "const" in one:
        return one["enum"][0] if "enum" in one else one["const"]
    match one.get("type"):
        case "string":
            return "a" * max(1, one.get("minLength", 1))
        case "integer" | "number":
            return one.get("minimum", one.get("exclusiveMinimum", 0) + 1)
        case "boolean":
            return True
        case "array":
            return [right(one["items"]) for _ in range(one.get("minItems", 0))]
        case _:
            required = one.get("required", ())
            return {name: right(part) for name, part in one.get("properties", {}).items() if name in required}


def wrongs(one):
    """Values that do not fit a schema, each with a name."""
    found = kinds(one)
    types = {part.get("type") for part in found}
    if None in types or not found:
        return
    others = {"string": MARK, "object": {MARK: 1}, "array": [MARK], "number": 3.5}
    for type_, value in others.items():
        if type_ not in types and not (type_ == "number" and "integer" in types) and not _taken(value, found):
            yield f"{type_} in its place", value
    for part in found if len(found) == 1 else ():
        yield from _beyond(part)


def _taken(value, found):
    """Whether an alternative has values like this one."""
    if isinstance(value, str):
        return any(part.get("type") == "string" for part in found)
    return False


def _beyond(one):
    """Values of the right type beyond its limits."""
    if "maxLength" in one:
        yield "too long", MARK + "a" * one["maxLength"]
    if one.get("minLength"):
        yield "empty", ""
    if "pattern" in one:
        yield "other letters", f"{MARK} \N{SNOWMAN}"
    if "enum" in one or "const" in one:
        yield "none of them", MARK
    if "maximum" in one:
        yield "too large", one["maximum"] + 1
    if "minimum" in one:
        yield "too small", one["minimum"] - 1
    if "exclusiveMinimum" in one:
        yield "too small", one["exclusiveMinimum"]
    if "maxItems" in one:
        yield "too many", [right(one["items"])] * (one["maxItems"] + 1)
    if one.get("minItems"):
        yield "too few", []
    if one.get("type") == "array" and "items" in one:
        for what, value in wrongs(one["items"]):
            yield f"an item {what}", [value]
    if one.get("type") == "object":
        yield from _fields(one)


def _fields(one):
    given = right(one)
    for name in one.get("required", ()):
        yield f"without {name}", {key: value for key, value in given.items() if key != name}
    if one.get("additionalProperties") is False:
        yield "a strange name", given | {MARK: 1}
    for name, part in one.get("properties", {}).items():
        for what, value in wrongs(part):
            yield f"{name} {what}", given | {name: value}


def requests(name):
    """Bad requests to one operation: (what is wrong, method, path, arguments of the client)."""
    method, path, operation = OPERATIONS[name]
    parameters = operation.get("parameters", [])
    query = {
        one["name"]: right(one["schema"])
        for one in parameters
        if one["in"] == "query" and one.get("required")
    }
    body = operation.get("requestBody")
    usual = {"params": query, "headers": dict(ADMIN)}
    here = path.replace("{id:path}", "{id}").replace("{id}", "1")
    content = None
    if body is not None:
        content = body["content"]["application/json"]["schema"]
        usual["json"] = right(content)

    def bad(what, path=here, method=method, **changed):
        merged = {**usual, **{key: value for key, value in changed.items() if value is not None}}
        for key, value in changed.items():
            if value is None:
                merged.pop(key, None)
        return what, method, path, merged

    for one in parameters:
        part, where = one["name"], one["in"]
        if where == "query":
            if one.get("required"):
                yield bad(f"without {part}", params={key: query[key] for key in query if key != part})
            for what, value in wrongs(one["schema"]):
                if not isinstance(value, dict | list | float):
                    yield bad(f"{part} {what}", params=query | {part: value})
        elif where == "header":
            for what, value in _beyond(kinds(one["schema"])[0]):
                yield bad(f"{part} {what}", headers=ADMIN | {part: value})
        else:
            for what, value in _beyond(kinds(one["schema"])[0]):
                if value:
                    yield bad(f"{part} {what}", path=here.replace("1", value))
    if content is not None:
        raw = {"json": None}
        yield bad("no body", **raw)
        yield bad("no JSON", **raw, content=f"{{{MARK}".encode(), headers=JSON)
        yield bad("half a text", **raw, content=b'{"a": "\xff', headers=JSON)
        yield bad("deep", **raw, content=b"[" * 100_000, headers=JSON)
        yield bad("a large body", **raw, content=b"x" * 17_000_000, headers=JSON)
        types = {part.get("type") for part in kinds(content)}
        for what, value in (("a text", MARK), ("a number", 7), ("null", None), ("a list", [7])):
            if what != "a list" or "array" not in types:
                yield bad(f"{what} as the body", **raw, content=json.dumps(value).encode(), headers=JSON)
        for kind in kinds(content):
            for what, value in _beyond(kind):
                yield bad(what, json=value)
    if operation.get("security"):
        yield bad("without the token", headers={})
        yield bad("a wrong token", headers={"Authorization": f"Bearer {MARK}"})
    yield bad("an unknown key", headers=ADMIN | {"X-Api-Key": MARK})
    for other in METHODS:
        if other not in API["paths"][path]:
            yield bad("another method", method=other)
            break


JSON = ADMIN | {"content-type": "application/json"}
CASES = {name: list(requests(name)) for name in OPERATIONS}

OTHERS = [
    ("post", "/search", {"query": "red", "facets": [MARK]}),
    ("post", "/search", {"query": "red", "facets": ["title"]}),
    ("post", "/search", {"query": "red", "filters": {MARK: 1}}),
    ("post", "/search", {"query": "red", "filters": {"price": {"min": "cheap"}}}),
    ("post", "/search", {"query": "red", "filters": {"brand": {"min": 1}}}),
    ("post", "/search", {"query": "red", "filters": {"added": {"max": "0000"}}}),
    ("post", "/search", {"query": "a" * 501}),
    ("post", "/rank", {"query": "red", "candidates": [{"id": "1"}, {"id": "1"}]}),
    ("post", "/rank", {"query": "red", "candidates": [{"id": "1", "features": {MARK: 1}}]}),
    ("post", "/rank", {"query": "red", "candidates": [{"id": "1"}, {"id": "2", "features": {}}]}),
    ("get", f"/explain?query=red&document={MARK}", None),
    ("get", f"/explain?query=red&document=1&against={MARK}", None),
    ("get", f"/explain?query=red&document=1&version={MARK}", None),
    ("post", "/models/promote", {"version": MARK}),
    ("post", "/models/roll_back", None),
    ("post", "/models/shadow", {"version": MARK}),
    ("post", "/models/shadow", {"version": "v1"}),
    ("post", "/models/canary", {"version": MARK}),
    ("post", "/experiments", {"a": "v1", "b": MARK}),
    ("post", "/experiments", {"a": "v1", "b": "v1"}),
    ("post", "/experiments", {"a": "v1", "b": "v1", "method": MARK}),
    ("get", f"/experiments/{MARK}", None),
    ("post", f"/experiments/{MARK}/end", None),
    ("patch", f"/documents/{MARK}", {"title": "red"}),
    ("put", "/documents/1", {"title": 7}),
    ("put", "/documents/1", {"id": "2"}),
    ("delete", f"/documents/{MARK}", None),
    ("get", f"/documents/{MARK}", None),
    ("get", f"/{MARK}", None),
    ("post", "/ubi_events", [{"action_name": "click", "timestamp": "x"}] * 201),
]


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rankloop.serve.http.tokens.TRIES", 100_000)  # tests guess often
        web = WebSettings(keys="backend=0123456789abcdef")
        with client_of(tmp_path_factory.mktemp("shop"), swap_rate=0.0, web=web) as pair:
            yield pair


def complaint(answer):
    """What is wrong with the answer to a bad request; None if it is a 4xx with one clear sentence."""
    if not 400 <= answer.status_code < 500:
        return f"status {answer.status_code}: {answer.text[:200]}"
    try:
        detail = answer.json()["detail"]
    except (ValueError, KeyError, TypeError):
        return f"no sentence: {answer.text[:200]!r}"
    if not isinstance(detail, str) or "\n" in detail or not 12 <= len(detail) <= 1000 or " " not in detail:
        return f"no sentence: {detail!r}"
    named = detail.replace(f"'{MARK}'", "").replace(f"{MARK}: there is no such field", "")
    if MARK in named or "Traceback" in detail or "pydantic" in detail:
        return f"it repeats what was sent, or says too much: {detail!r}"
    return None


@pytest.mark.parametrize("operation", sorted(OPERATIONS))
def test_every_bad_request_gets_one_sentence(shop, operation):
    client = shop[0]
    wrong = {}
    for what, method, path, arguments in CASES[operation]:
        answer = client.request(method, path, **arguments)
        if said := complaint(answer):
            wrong[what] = said
    assert wrong == {}


@pytest.mark.parametrize(("method", "path", "body"), OTHERS)
def test_what_no_schema_says_gets_one_sentence(shop, method, path, body):
    answer = shop[0].request(method, path, json=body, headers=ADMIN)
    assert complaint(answer) is None


def test_there_are_many_of_them_and_every_422_is_a_sentence():
    assert sum(map(len, CASES.values())) + len(OTHERS) >= 200
    assert len(OPERATIONS) >= 24
    for name, (_, _, operation) in OPERATIONS.items():
        for status, answer in operation["responses"].items():
            if status == "422":
                assert resolved(answer["content"]["application/json"]["schema"])["title"] == "Problem", name


def test_right_requests_are_right():
    """The generator must not pass because everything it sends is wrong."""
    assert right(API["components"]["schemas"]["SearchRequest"])["query"] == "red running shoes"
    assert dict(_beyond({"type": "string", "maxLength": 3}))["too long"] == MARK + "aaa"
    assert [what for what, _ in wrongs({"type": "integer", "minimum": 1})] == [
        "string in its place",
        "object in its place",
        "array in its place",
        "too small",
    ]
