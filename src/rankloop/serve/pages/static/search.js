// Search as you type: each key shows the results of what is typed so far. One request is under way at a time,
// and the newest text is asked for next; one that takes long is cancelled. What stands there stays until the
// next results are there. A page counts as shown (and is recorded) once the query has settled: on Enter, or
// after a pause.
import { watch } from "./events.js";
import { say } from "./say.js";
import { suggestions } from "./suggestions.js";

const PATIENCE = 250, SETTLED = 800, HELD = 200;  // milliseconds

export function search() {
  const form = document.querySelector("[data-ask]"), found = document.getElementById("found");
  if (!form || !found) return;
  const box = form.elements.q;
  const kept = new Map();  // parts that somebody opened or closed stay so
  let running = null, again = false, later = 0, slow = 0, settled = found.hidden ? "" : asked(), held = false;
  const list = suggestions(box, (text) => {
    box.value = text;
    intoHeader();
    load(true);
  });

  function asked() {
    return new URLSearchParams(new FormData(form)).toString();
  }

  function typed() {
    clearTimeout(later);
    later = setTimeout(() => (box.value.trim() ? load(true) : remember(asked())), SETTLED);
    if (running && performance.now() - running.since < PATIENCE) again = true;
    else load(false);
  }

  async function load(settling) {
    if (settling) {
      clearTimeout(later);
      if (held) {  // results must not change under a finger
        later = setTimeout(() => load(true), HELD);
        return;
      }
    } else if (held) return;
    const wanted = asked();
    if (settling && wanted === settled) return;
    running?.control.abort();
    const mine = running = { control: new AbortController(), since: performance.now() };
    again = false;
    found.setAttribute("aria-busy", "true");
    slow ||= setTimeout(() => found.classList.add("slow"), PATIENCE);
    try {
      const answer = await fetch(`/fragment?${wanted}${settling ? "&settled=1" : ""}`, { signal: mine.control.signal });
      const text = await answer.text();
      if (!answer.ok) throw new Error(answer.headers.get("X-Problem") || "The search is not available");
      if (mine !== running || (held && !settling)) return;
      settled = settling ? wanted : "";
      show(text);
      if (settling) remember(wanted);
    } catch (problem) {
      if (problem.name === "AbortError") return;
      clearTimeout(slow);
      slow = 0;
      found.classList.add("old");  // what stands there answers an earlier query
      say(`${problem.message}; press Enter to try again.`, 6);
    } finally {
      if (mine === running) {
        running = null;
        if (again) load(false);
        else found.removeAttribute("aria-busy");
      }
    }
  }

  function show(text) {
    const open = found.querySelector(".facets")?.open;
    const at = found.contains(document.activeElement) && document.activeElement.closest(".result")?.dataset.document;
    clearTimeout(slow);
    slow = 0;
    found.innerHTML = text;
    found.hidden = false;
    found.classList.remove("old", "slow");
    if (open) found.querySelector(".facets").open = true;
    for (const one of found.querySelectorAll("[data-keep]")) one.open = kept.get(one.dataset.keep) ?? one.open;
    if (at) (found.querySelector(`.result[data-document="${CSS.escape(at)}"] a.open`) ?? box).focus();
    watch(found);
  }

  function remember(wanted) {
    const words = box.value.trim();
    document.title = document.title.replace(/^.* · |^/, () => (words ? `${words} · ` : ""));
    if (location.pathname + location.search !== `/?${wanted}`) history.pushState(null, "", `/?${wanted}`);
  }

  function intoHeader() {
    const welcome = form.closest(".welcome");
    if (!welcome) return;
    const at = box.selectionStart;
    document.querySelector(".top .brand").nextElementSibling.replaceWith(form);
    const heading = document.createElement("h1");
    Object.assign(heading, { className: "unseen", textContent: "Results" });
    welcome.replaceWith(heading);
    box.focus();
    box.setSelectionRange(at, at);
  }

  box.addEventListener("input", (event) => {
    if (event.isComposing) return;
    intoHeader();
    typed();
    list.ask();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    intoHeader();
    list.close();
    load(true);
  });
  found.addEventListener("pointerenter", () => list.close());  // it lies over the first results
  addEventListener("scroll", () => list.close(), { passive: true });
  found.addEventListener("click", (event) => {
    const part = event.target.closest?.("summary")?.closest("[data-keep]");
    if (part) kept.set(part.dataset.keep, !part.open);
  });
  found.addEventListener("pointerdown", () => { held = true; });
  for (const kind of ["pointerup", "pointercancel", "dragend"]) addEventListener(kind, () => { held = false; });
  addEventListener("popstate", () => location.reload());
}
