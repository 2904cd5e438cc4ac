"""The JavaScript client: in a real browser from another origin, and in Node."""

import json
import re
import shutil
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rankloop.serve.config import Limits
from rankloop.serve.web_settings import WebSettings
from serve.running import TOKEN, client_of, wait_until

CLIENTS = Path(__file__).parents[2] / "clients"
NODE = shutil.which("node")
KEY = "0123456789abcdef0123456789abcdef"
needs_node = pytest.mark.skipif(NODE is None, reason="no node on this machine")


@pytest.fixture(scope="module")
def site():
    """Another site, with the client among its files."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(CLIENTS))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        handler.log_message = lambda *given: None
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def shop(tmp_path_factory, site):
    web = WebSettings(prefix="/shop", keys=f"backend={KEY}")
    folder = tmp_path_factory.mktemp("shop")
    with client_of(folder, web=web, origins=(site,), swap_rate=0.0) as pair:
        yield pair


def events(service):
    frame = service.store.click_frame(include_bots=True, influence=None)
    return frame.filter(frame["click"] == 1)["document"].to_list()


# In Node.


def node(address, script, **options):
    """What a script prints as JSON, with `shop`, a client, and `RankloopError` at hand."""
    whole = f"""
        import {{ Rankloop, RankloopError }} from {json.dumps((CLIENTS / "rankloop.js").as_uri())};
        const shop = new Rankloop({json.dumps(address)}, {json.dumps(options)});
        const told = await (async () => {{ {script} }})();
        console.log(JSON.stringify(told));
    """
    done = subprocess.run(
        [NODE, "--input-type=module", "-e", whole], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@needs_node
def test_node_searches_and_its_clicks_count(shop):
    client, service = shop
    told = node(
        f"{client.base_url}/shop/".replace("//shop", "/shop"),
        """
        const page = await shop.search("red hat", { k: 3, facets: ["brand"] });
        page.click(page.results[0].id);
        page.dwell(page.results[0].id, 3.5);
        page.convert(page.results[1].id, 20);
        page.view(page.results[2].id);
        return [page.found, page.results.length, page.facets, page.results[0].id, await shop.flush(),
                await shop.suggest("gree")];
        """,
        user="ann",
    )
    assert told[1] == 3
    assert set(told[2]["brand"]) == {"Hare", "Tortoise"}
    assert told[4] == {"accepted": 4, "refused": []}
    assert told[5] == ["green hat for running"]
    wait_until(lambda: told[3] in events(service))


@needs_node
def test_node_writes_documents_with_the_token(shop):
    client, _ = shop
    told = node(
        f"{client.base_url}/shop".replace("//shop", "/shop"),
        """
        const put = await shop.put([{ id: "900", title: "umbrella", price: 5 }, { title: "no id" }]);
        const patched = await shop.patch([{ id: "900", price: null }], "one key");
        const again = await shop.patch([{ id: "900", price: null }], "one key");
        const found = (await shop.search("umbrella", { record: false })).results.map((one) => one.id);
        const gone = await shop.delete(["900", 901]);
        return [put, patched, again, found, gone].map((one) => one.items ?? one);
        """,
        token=TOKEN,
    )
    assert [[one["status"] for one in told[at]] for at in (0, 1, 4)] == [
        ["stored", "refused"],
        ["stored"],
        ["deleted", "absent"],
    ]
    assert told[1] == told[2]
    assert told[3] == ["900"]


@needs_node
def test_an_error_is_its_sentence_and_is_not_sent_again(shop):
    client, _ = shop
    address = f"{client.base_url}/shop".replace("//shop", "/shop")
    script = """
        const told = [];
        for (const work of [() => shop.search("red", { k: 1000 }), () => shop.delete(["1"])]) {
          try { await work(); }
          catch (error) { told.push([error instanceof RankloopError, error.status, error.message]); }
        }
        return told;
    """
    told = node(address, script)
    assert [one[:2] for one in told] == [[True, 422], [True, 401]]
    assert told[0][2] == "k: input should be less than or equal to 100"


@needs_node
def test_a_busy_service_is_asked_again_and_events_are_kept(shop):
    script = """
        let calls = 0;
        shop.options.fetch = async (url, options) => {
          calls += 1;
          const later = { status: 503, headers: { "Retry-After": "0.01" } };
          if (calls < 3) return new Response('{"detail": "busy"}', later);
          return new Response('{"accepted": 1, "refused": []}');
        };
        shop.record({ id: "event-1", impression: "x", kind: "click", document: "1" });
        const first = await shop.flush();
        calls = -10;
        shop.options.retries = 1;
        shop.record({ id: "event-2", impression: "x", kind: "click", document: "1" });
        const second = await shop.flush();
        const waiting = shop.waiting.length;
        calls = 5;
        return [first, second, waiting, await shop.flush(), shop.waiting.length];
    """
    told = node("http://127.0.0.1:1", script)
    none = {"accepted": 0, "refused": []}
    assert told == [{"accepted": 1, "refused": []}, none, 1, {"accepted": 1, "refused": []}, 0]


@needs_node
def test_a_service_that_is_away_is_a_sentence(tmp_path):
    script = "try { await shop.search('red'); } catch (error) { return [error.status, error.message]; }"
    status, message = node("http://127.0.0.1:9", script, retries=0)
    assert status == 0
    assert message.startswith("no answer from http://127.0.0.1:9")


@needs_node
def test_a_key_has_its_own_limit(tmp_path):
    web = WebSettings(keys=f"backend={KEY}")
    with client_of(tmp_path, web=web, limits=Limits(rate=0.01, burst=1)) as (client, _):
        script = """
            let count = 0;
            for (let number = 0; number < 5; number++) count += (await shop.search("red")).results.length > 0;
            return count;
        """
        assert node(str(client.base_url), script, key=KEY, retries=0) == 5


def test_every_type_that_is_named_is_declared_and_every_route_exists(shop):
    """There is no compiler here, so what the types say is looked at."""
    text = (CLIENTS / "rankloop.js").read_text()
    declared = set(re.findall(r"@typedef \{(?:[^{}]|\{[^{}]*\})*\} (\w+)", text))
    assert declared >= {"Scalar", "Range", "Filter", "Options", "SearchOptions", "Result", "Kind", "Item"}
    paths = shop[0].get("/shop/openapi.json").json()["paths"]
    for path in re.findall(r'this\.call\("?\w+"?, [`"](/\w+)', text):
        assert path in paths, path
    package = json.loads((CLIENTS / "package.json").read_text())
    assert (CLIENTS / package["main"]).exists()


# In a browser.


def test_a_browser_on_another_site_searches_and_its_clicks_count(shop, site):
    pytest.importorskip("playwright", reason="the browser is driven by playwright: pip install playwright")
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium on this machine")
    client, service = shop
    address = f"{client.base_url}/shop".replace("//shop", "/shop")
    flags = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    agent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36"
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=flags)
        page = browser.new_context(user_agent=agent).new_page()
        troubles = []
        page.on("pageerror", lambda one: troubles.append(str(one)))
        page.goto(f"{site}/package.json")
        shown = page.evaluate(
            """async ([address]) => {
                const { Rankloop } = await import("/rankloop.js");
                const shop = new Rankloop(address, { user: "eve" });
                const page = await shop.search("shoe polish", { k: 3 });
                page.click(page.results[0].id);
                const told = await shop.flush();
                page.click(page.results[1].id);  // still waits when the page is left
                window.shop = shop;
                return [page.results.map((one) => one.id), told, page.results[0].snippet];
            }""",
            [address],
        )
        ids, told, snippet = shown
        assert told == {"accepted": 1, "refused": []}
        assert "<mark>" in snippet
        page.goto("about:blank")  # the page is hidden and left
        wait_until(lambda: {ids[0], ids[1]} <= set(events(service)))
        assert troubles == []
        browser.close()
