"""A judge by language model, against a server of this test: answers, cache, budget, agreement, use."""

import json
import threading
import time
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from rankloop.search import Deadline
from rankloop.serve.desk.acts import past_acts
from rankloop.serve.desk.judge_run import ENOUGH, JudgeRun, same_model
from rankloop.serve.desk.judging import judging
from rankloop.serve.desk.language_judge import BadAnswer, LanguageJudge, OverBudget, grade_of
from rankloop.serve.desk.language_model import Answer, LanguageModel, ModelAway
from rankloop.serve.desk.query_sets import SetQuery, put_query_set
from rankloop.serve.events.judgments import averaged
from rankloop.serve.events.store import Rating
from rankloop.serve.judge_settings import JudgeSettings
from serve.running import ADMIN, another, client_of, serving, wait_until


@contextmanager
def model_server(*scripted, usual='{"grade": 2, "reason": "in part"}'):
    """An OpenAI-style server: scripted answers first, each a (status, headers, body), then the usual one."""
    asked, waiting = [], list(scripted)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append((self.path, dict(self.headers), body))
            status, headers, text = waiting.pop(0) if waiting else (200, {}, completion(usual))
            if callable(text):
                text = text()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *about):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def completion(text, tokens=7):
    return json.dumps(
        {"choices": [{"message": {"role": "assistant", "content": text}}], "usage": {"total_tokens": tokens}}
    )


def test_the_model_is_asked_as_others_ask_it(monkeypatch):
    with model_server() as (address, asked):
        answer = LanguageModel(address + "/", "small", "secret key")("grade this")
    assert answer == Answer('{"grade": 2, "reason": "in part"}', 7)
    path, headers, body = asked[0]
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == "Bearer secret key"
    assert body["model"] == "small"
    assert body["messages"] == [{"role": "user", "content": "grade this"}]
    assert "secret" not in repr(LanguageModel(address, "small", "secret key"))


def test_a_busy_model_is_asked_again_after_the_time_it_names():
    past = formatdate(time.time() - 5, usegmt=True)
    busy = [(429, {"Retry-After": "0"}, "busy"), (503, {"Retry-After": past}, "away")]
    with model_server(*busy) as (address, asked):
        assert LanguageModel(address, "small")("x").tokens == 7
        assert len(asked) == 3


def test_the_waiting_ends_when_the_service_does():
    with model_server(*[(429, {"Retry-After": "50"}, "busy")] * 4) as (address, asked):
        model = LanguageModel(address, "small")
        threading.Timer(0.2, model.stop.set).start()
        start = time.monotonic()
        with pytest.raises(ModelAway, match="429"):
            model("x")
        assert time.monotonic() - start < 10
        assert len(asked) == 1


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        ((401, {}, "no key"), "401"),
        ((302, {"Location": "http://127.0.0.1:1/elsewhere"}, ""), "302"),
        ((200, {}, "not json"), "not a chat completion"),
        ((200, {}, '{"choices": []}'), "not a chat completion"),
        ((200, {}, "[1]"), "not a chat completion"),
        ((200, {}, "x" * (1 << 21)), "more than"),
    ],
)
def test_answers_that_are_none_are_said(answer, wrong):
    with model_server(answer) as (address, asked):
        with pytest.raises(ModelAway, match=wrong):
            LanguageModel(address, "small", "k")("x")
        assert len(asked) == 1, "it is not asked again"


def test_no_answer_in_time_and_no_server(monkeypatch):
    monkeypatch.setattr("rankloop.serve.desk.language_model.TRIES", 1)
    slow = (200, {}, lambda: time.sleep(0.5) or completion("2"))
    with model_server(slow) as (address, _), pytest.raises(ModelAway, match="does not answer"):
        LanguageModel(address, "small", seconds=0.05)("x")
    with pytest.raises(ModelAway, match="does not answer"):
        LanguageModel("http://127.0.0.1:9/v1", "small")("x")


@pytest.mark.parametrize(
    ("text", "grade"),
    [
        ('{"grade": 0, "reason": "no"}', 0),
        ('```json\n{"grade": 3}\n```', 3),
        ('{"grade": "1"}', 1),
        ("2", 2),
        (' {"reason": "first", "grade": 2} and {"grade": 0}', 2),
    ],
)
def test_grades_are_read(text, grade):
    assert grade_of(text).grade == grade


@pytest.mark.parametrize(
    "text",
    ["", "good", "4", "-1", "2.5", '{"grade": 7}', '{"grade": null}', '{"grade": true}', "[2]", "12 of 3"],
)
def test_what_has_no_grade_is_a_bad_answer(text):
    with pytest.raises(BadAnswer, match="no grade from 0 to 3"):
        grade_of(text)


@pytest.mark.parametrize(
    "settings",
    [
        {"address": "ftp://x", "model": "m"},
        {"address": "http://x/v1"},
        {"model": "m"},
        {"address": "http://x/v1", "model": "m", "calls": 0},
    ],
)
def test_settings_that_make_no_sense_are_refused(settings):
    with pytest.raises(ValueError, match="judge"):
        JudgeSettings(**settings)


def test_nothing_is_asked_twice_and_budgets_hold(store):
    asked = []
    judge = LanguageJudge(lambda prompt: asked.append(prompt) or Answer("3", 40), "mine", store, 3, 100)
    assert judge.grade("red shoes", {"title": "shoes", "note": None}).grade == 3
    assert judge.grade("red shoes", {"title": "shoes", "note": None}).grade == 3
    assert len(asked) == 1
    assert "red shoes" in asked[0]
    assert judge.spent() == (1, 40)
    other = LanguageJudge(judge.ask, "another", store, 3, 100)
    other.grade("red shoes", {"title": "shoes"})
    assert len(asked) == 2, "another model is asked itself"
    judge.grade("hat", {"title": "hat"})
    with pytest.raises(OverBudget, match="daily limit of 3 calls"):
        judge.grade("new", {"title": "hat"})
    assert judge.grade("hat", {"title": "hat"}).grade == 3, "what is known costs nothing"
    judge.calls = 100
    with pytest.raises(OverBudget, match="100 tokens"):
        judge.grade("new", {"title": "hat"})
    assert len(asked) == 3


def test_a_bad_answer_is_asked_for_once_more_and_costs(store):
    given = iter(["hm", "2", "hm", "hm"])
    judge = LanguageJudge(lambda prompt: next(given), "mine", store)
    assert judge.grade("a", {"title": "x"}).grade == 2
    with pytest.raises(BadAnswer):
        judge.grade("b", {"title": "x"})
    assert judge.spent() == (4, 0)


def test_people_count_alone_where_they_judged_and_a_trial_never():
    given = [
        Rating("q", "a", "ann", 0.0),
        Rating("q", "a", "model m", 3.0, source="model"),
        Rating("q", "b", "model m", 2.0, source="model"),
        Rating("q", "c", "model m", 1.0, source="model trial"),
        Rating("q", "d", "ann", None),
        Rating("q", "d", "model m", 3.0, source="model"),
    ]
    assert averaged(given).to_dict() == {"q": {"a": 0.0, "b": 2.0, "d": 3.0}}
    assert averaged(reversed(given)).to_dict() == {"q": {"a": 0.0, "b": 2.0, "d": 3.0}}


def run_of(service, ask, **budget):
    service.judge_run = JudgeRun(LanguageJudge(ask, "mine", service.store, **budget), service.index)
    return service.judge_run


def judged_by_people(service, grade, n=ENOUGH):
    """A set whose first documents people judged."""
    queries = [SetQuery(one) for one in ("running shoes", "red hat", "shoes", "hat")]
    put_query_set(service.store, "head", queries, author="ann", made="by hand")
    found = judging(service, "head", (), Deadline(30))
    pool = [
        (query, one)
        for query, ids in zip(found.pools.queries, found.pools.documents, strict=True)
        for one in ids
    ]
    for query, one in pool[:n]:
        service.store.put_judgment(query, one, grade(one), "ann")
    return pool


def test_it_is_used_only_after_it_agrees_with_people(tmp_path, database):
    with serving(tmp_path, database=database) as service:
        another(service)
        pool = judged_by_people(service, lambda one: float(int(one) % 4))
        assert len(pool) > ENOUGH
        prompts = []

        def ask(prompt):
            prompts.append(prompt)
            number = int(prompt.rpartition("number ")[2].partition(":")[0])
            return json.dumps({"grade": number % 4, "reason": f"it is number {number}"})

        run = run_of(service, ask)
        with pytest.raises(ValueError, match=r"30 documents that people judged are needed.*there are 0"):
            run.start(judging(service, "head", (), Deadline(30)), "rest", "ann")
        assert run.start(judging(service, "head", (), Deadline(30)), "trial", "ann")
        wait_until(lambda: not run.running)
        trial = run.trial(service.store.ratings())
        assert (trial.items, trial.agreement.value, trial.passed) == (ENOUGH, 1.0, True)
        before = service.store.judgments().to_dict()
        assert sum(map(len, before.values())) == ENOUGH, "a trial changes nothing"
        assert run.start(judging(service, "head", (), Deadline(30)), "rest", "ann")
        wait_until(lambda: not run.running)
        assert run.message == ""
        after = service.store.judgments().to_dict()
        assert sum(map(len, after.values())) == len(pool)
        mine = [one for one in service.store.ratings() if one.source == "model"]
        assert {one.rater for one in mine} == {"model mine"}
        assert mine[0].reason.startswith("it is number")
        assert len(prompts) == len(pool)
        assert past_acts(service.store, 1)[0].act == "judge by model"
        assert service.store.forget_rater("model mine") == len(pool)


def test_a_model_that_disagrees_is_not_used(tmp_path):
    with serving(tmp_path) as service:
        judged_by_people(service, lambda one: float(int(one) % 4))
        run = run_of(service, lambda prompt: "0")
        run.start(judging(service, "head", (), Deadline(30)), "trial", "ann")
        wait_until(lambda: not run.running)
        with pytest.raises(ValueError, match="agreement with people is below"):
            run.start(judging(service, "head", (), Deadline(30)), "rest", "ann")


@pytest.mark.parametrize(
    ("ask", "budget", "said"),
    [
        (lambda prompt: "hm", {}, "5 answers in a row had no grade"),
        (lambda prompt: 1 / 0, {}, "ZeroDivisionError"),
        (lambda prompt: "1", {"calls": 2}, "daily limit of 2 calls is reached"),
    ],
)
def test_a_run_that_fails_says_why_and_keeps_what_it_has(tmp_path, ask, budget, said):
    with serving(tmp_path) as service:
        judged_by_people(service, lambda one: 1.0, n=12)
        run = run_of(service, ask, **budget)
        run.start(judging(service, "head", (), Deadline(30)), "trial", "ann")
        wait_until(lambda: not run.running)
        assert said in run.message
        kept = [one for one in service.store.ratings() if one.rater == "model mine"]
        assert len(kept) == run.done == budget.get("calls", 0)


def test_a_judge_that_is_the_ranker_is_named(tmp_path):
    with serving(tmp_path) as service:
        other = another(service)
        pipeline, version = service.versions.model(other).pipeline, service.registry.version(other)
        assert not same_model("judge-7b", pipeline, version)
        service.registry.note(other, {"judge": "acme/Judge-7B"})
        assert same_model("judge-7b", pipeline, service.registry.version(other))

        class Encoder:
            name = "small-encoder"

        pipeline.features.encoders["vector"] = Encoder()
        assert same_model("other/small-encoder", pipeline, version)


def test_the_page_shows_the_agreement_and_runs_it(tmp_path):
    with model_server(usual='{"grade": 1}') as (address, _):
        settings = {"judge": JudgeSettings(address, "acme/judge-7b", calls=100)}
        with client_of(tmp_path, **settings) as (client, service):
            other = another(service)
            service.registry.note(other, {"judge": "judge-7b"})
            judged_by_people(service, lambda one: float(int(one) % 2))
            client.post("/login", data={"token": ADMIN["Authorization"].removeprefix("Bearer ")})
            page = client.get("/judge?set=head").text
            assert "Judge by language model: acme/judge-7b" in page
            assert "30 documents that people judged are needed to compare with, there are 0" in page
            assert f"{other} ranks by acme/judge-7b or learned from it" in page
            assert "Let it judge what nobody judged" not in page
            token = page.partition('name="form_token" value="')[2].partition('"')[0]
            asked = {"form_token": token, "set": "head", "way": "trial"}
            assert client.post("/judge/model", data={**asked, "form_token": "x"}).status_code == 403
            assert client.post("/judge/model", data={**asked, "way": "all"}).status_code == 400
            assert client.post("/judge/model", data=asked).status_code == 303
            wait_until(lambda: not service.judge_run.running)
            page = client.get("/judge?set=head").text
            assert "Agreement with people (weighted kappa): <strong>0.00</strong>" in page
            assert "its agreement with people is below 0.4" in page
            refused = client.post("/judge/model", data={**asked, "way": "rest"})
            assert refused.status_code == 400
            assert "may not be used" in refused.text
