"""Clicks that are learned by heart: judged by other people, kept with the version, and explained."""

from zlib import crc32

import numpy as np
import pytest

from rankloop.clicks import ClickLog
from rankloop.data import RankingDataset
from rankloop.search import Deadline, Remembered
from rankloop.serve.config import Config, InfluenceSettings
from rankloop.serve.events.shown_page import Event, ShownPage
from rankloop.serve.events.store import Store
from rankloop.serve.http.schema import SearchRequest
from rankloop.serve.learning.own_clicks import own_clicks
from rankloop.serve.learning.remembering import REMEMBERED, gain_of_memory, voices_of, with_memory
from rankloop.serve.learning.run import learn_once
from rankloop.serve.service import Service
from serve.test_learning import NOW, served, shop, small_forests  # noqa: F401 - fixtures


@pytest.fixture(autouse=True)
def nobody_can_describe_it(monkeypatch):
    """What people want is in no feature: a ranker cannot learn it, memory can."""

    def hidden(index, topic):
        return {f"{topic}-{at}": (0, 0, 0, 1, 2, 3)[crc32(f"{topic}-{at}".encode()) % 6] for at in range(12)}

    monkeypatch.setattr("serve.test_learning.grades", hidden)


def number(name):
    return f"{crc32(name.encode()):032x}"


def visit(service, query, rank, times, person="ann", origin=None):
    """Pages of a person who always opens the same result."""
    answer = service.searcher.search(SearchRequest(query=query), record=False)
    wanted = answer.results[rank - 1].id
    ids = tuple(one.id for one in answer.results)
    model = service.versions.live.production
    found = model.pipeline(query)
    rows = service.searcher.features.matrix(found)
    for at in range(times):
        page = ShownPage(
            number(f"{query} {person} {at}"),
            NOW - 500 + 40 * at,
            query,
            ids,
            np.array([one.score for one in answer.results]),
            rows[: len(ids)],
            service.searcher.features.names,
            model.version,
            layout="page",
            user=number(person),
            origin=origin,
            found=len(ids),
        )
        service.store.put_pages([page])
        service.store.put_events(
            [
                Event(
                    f"{page.page_id}-c",
                    page.page_id,
                    "click",
                    wanted,
                    position=ids.index(wanted) + 1,
                    time=page.time + 5,
                )
            ]
        )
    return wanted


def taught(shop, folder, voices, **settings):  # noqa: F811
    """A service that served people, and a visitor with a query of her own."""
    config = served(
        shop,
        folder,
        {"bm25(title)": 1.0},
        pages=4000,
        influence=InfluenceSettings(voices=voices),
        learn_budget="quick",
        **settings,
    )
    with Service.open(config) as service:
        wanted = visit(service, "topic7 filler", 5, 4)
        run = learn_once(service, now=NOW)
        service.versions.reload()
        return service.config, wanted, run


def rank_of(config, shop, version, query, document):  # noqa: F811
    from rankloop.serve.models.registry import Registry

    with Store.open(config.database) as store:
        found = Registry(store, config.home / "models").load(version, shop)
        return [str(id) for id in found(query).ids.tolist()].index(document) + 1, found


def test_a_visitor_is_heard_where_one_voice_is_enough(shop, tmp_path):  # noqa: F811
    config, wanted, run = taught(shop, tmp_path, 1)
    assert run.record["best"] == REMEMBERED, run
    after, found = rank_of(config, shop, run.version, "topic7 filler", wanted)
    before, _ = rank_of(config, shop, "v1", "topic7 filler", wanted)
    assert after < before == 5
    assert isinstance(found.stages[3], Remembered)
    lineage = run.record["candidates"][REMEMBERED]
    assert lineage["value"][0] > 0
    page = (config.home / "reports" / run.report).read_text(encoding="utf-8")
    assert "are remembered on top of the ranker that serves" in page
    with Service.open(config) as service:
        told = service.searcher.explain("topic7 filler", wanted, version=run.version)
        shares = {one.name: one.share for one in told.features}
        assert shares["clicks on this query"] > 0
        assert told.base + sum(shares.values()) == pytest.approx(told.score, abs=1e-5)
        other = str(found("topic7 filler").ids[-1])
        both = service.searcher.explain("topic7 filler", wanted, other, version=run.version)
        gaps = sum(one["share"] for one in both.against["features"])
        assert both.against["above"]["document"] == wanted
        assert both.against["above"]["score"] - both.against["below"]["score"] == pytest.approx(
            gaps, abs=1e-5
        )
        [mine] = own_clicks(service, run, number("ann"), Deadline(30))
        assert (mine.document, mine.before, mine.after) == (wanted, 5, after)


def test_a_single_voice_moves_nothing_on_an_open_site(shop, tmp_path):  # noqa: F811
    config, wanted, run = taught(shop, tmp_path, InfluenceSettings().voices)
    assert rank_of(config, shop, run.version, "topic7 filler", wanted)[0] >= 5


def test_nothing_is_remembered_where_the_config_says_so(shop, tmp_path):  # noqa: F811
    _, _, run = taught(shop, tmp_path, 1, remember=False)
    assert REMEMBERED not in run.record["candidates"]


def test_the_second_look_is_fair_to_what_production_remembers(shop, tmp_path):  # noqa: F811
    """The same clicks again: no gain, whether they are remembered by the old version or by the new one."""
    config = served(shop, tmp_path, {"bm25(title)": 1.0}, pages=4000, learn_budget="quick")
    first = learn_once(config, now=NOW)
    assert first.state == "promoted", first
    assert first.record["best"] == REMEMBERED
    again = learn_once(config, again=True, now=NOW + 60)
    assert again.state == "registered", again
    gain, low, high = again.record["candidates"][REMEMBERED]["gain"]
    assert low <= 0 <= high + 1e-9
    assert abs(gain) < 0.02


def random_clicks(seed, queries=40, documents=6, pages=3000):
    """Clicks by rank alone: there is nothing to remember."""
    rng = np.random.default_rng(seed)
    data = RankingDataset(
        rng.normal(size=(queries * documents, 1)),
        np.zeros(queries * documents),
        np.repeat([f"q{at}" for at in range(queries)], documents),
        docid=[f"d{at}" for at in range(queries * documents)],
    )
    asked = rng.integers(0, queries, pages)
    order = np.argsort(rng.random((pages, documents)), axis=1)
    log = ClickLog(
        session=np.repeat(np.arange(pages), documents),
        query=np.repeat(data.qid[asked], documents),
        document=data.docid[(asked[:, None] * documents + order).ravel()],
        position=np.tile(np.arange(1, documents + 1), pages),
        click=(rng.random((pages, documents)) < 0.3 / np.arange(1, documents + 1)).ravel(),
        user=np.repeat(rng.integers(0, 500, pages), documents),
        timestamp=np.repeat(np.arange(pages, dtype=float), documents),
    )
    return log, data


def test_memory_of_chance_gains_nothing():
    curve = 1.0 / np.arange(1, 7)
    from rankloop.propensity import Propensity

    opened = 0
    for seed in range(10):
        log, data = random_clicks(seed)
        scores = data.X[:, 0].astype(float)
        found = gain_of_memory(
            log,
            data,
            Propensity.given(curve),
            voices_of(log, {}, 1),
            scores,
            scores,
            until=None,
            metric="dcg@10",
            confidence=0.95,
            seed=seed,
        )
        opened += found.gain_low > 0
    assert opened <= 2


def test_voices_are_address_ranges_where_they_are_known():
    log, _ = random_clicks(0, pages=4)
    voices = voices_of(log, {log.sessions[0]: "x", log.sessions[1]: "x"}, 0)
    codes = voices.of(log)
    assert codes[0] == codes[1]
    assert len(set(codes.tolist())) == 3
    assert voices.needed == 1


def test_the_frequent_spelling_is_kept(shop):  # noqa: F811
    from rankloop.rankers import FeatureSum
    from rankloop.search import Features, first

    names = ("bm25(title)",)
    search = (
        shop.retriever(k=5) >> Features(names) >> FeatureSum({"bm25(title)": 1.0}, features=names) >> first(3)
    )
    data = RankingDataset(np.zeros((2, 1)), np.zeros(2), ["Topic7", "topic7"], docid=["a", "a"])
    log = ClickLog([1, 2, 3], ["topic7", "topic7", "Topic7"], ["a"] * 3, [1] * 3, [1] * 3)
    found = with_memory(with_memory(search, data, log, np.array([9.0, 9.0])), data, log, np.array([1.0, 2.0]))
    assert [type(stage).__name__ for stage in found.stages].count("Remembered") == 1
    assert found.remembered.shift("TOPIC7", ["a", "b"]).tolist() == [2.0, 0.0]


def test_voices_are_a_setting():
    given = Config.from_dict({"index": "shop.index", "influence": {"voices": 1}, "remember": False})
    assert (given.influence.voices, given.remember) == (1, False)
    with pytest.raises(ValueError, match=r"influence\.voices lies between"):
        Config(index="shop.index", influence=InfluenceSettings(voices=-1))
