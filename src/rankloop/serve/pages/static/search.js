// Search as you type. A page counts as shown (and is recorded) once the query has settled:
// on Enter, or after a pause. Answers to older keystrokes are dropped.
import { watch } from "./events.js";
import { say } from "./say.js";

const TYPING = 120, SETTLED = 800, HELD = 200;

export function search() {
  const form = document.querySelector("[data-ask]"), found = document.getElementById("found");
  if (!form || !found) return;
  const box = form.elements.q;
  let running = new AbortController(), soon = 0, later = 0, settled = asked(), held = false;

  function asked() {
    return new URLSearchParams(new FormData(form)).toString();
  }

  function stop() {
    clearTimeout(soon);
    clearTimeout(later);
    running.abort();
  }

  async function load(settling) {
    stop();
    if (held) {  // results must not change under a finger
      later = setTimeout(() => load(settling), HELD);
      return;
    }
    const wanted = asked();
    if (!box.value.trim() || (settling && wanted === settled)) return;
    running = new AbortController();
    found.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(`/fragment?${wanted}${settling ? "&settled=1" : ""}`, { signal: running.signal });
      const text = await answer.text();
      if (!answer.ok) throw new Error(answer.headers.get("X-Problem") || "The search is not available");
      settled = settling ? wanted : "";
      show(text);
      if (settling) remember(wanted);
    } catch (problem) {
      if (problem.name === "AbortError") return;
      found.classList.add("old");  // what stands there answers an earlier query
      say(`${problem.message}; press Enter to try again.`, 6);
    }
    found.removeAttribute("aria-busy");
  }

  function show(text) {
    const open = found.querySelector(".facets")?.open;
    const at = found.contains(document.activeElement) && document.activeElement.closest(".result")?.dataset.document;
    found.innerHTML = text;
    found.hidden = false;
    found.classList.remove("old");
    if (open) found.querySelector(".facets").open = true;
    if (at) (found.querySelector(`.result[data-document="${CSS.escape(at)}"] a.open`) ?? box).focus();
    watch(found);
  }

  function remember(wanted) {
    document.title = document.title.replace(/^.* · |^/, () => `${box.value.trim()} · `);
    if (location.pathname + location.search !== `/?${wanted}`) history.pushState(null, "", `/?${wanted}`);
  }

  function intoHeader() {
    const welcome = form.closest(".welcome");
    if (!welcome) return;
    const at = box.selectionStart;
    document.querySelector(".top .brand").nextElementSibling.replaceWith(form);
    welcome.remove();
    box.focus();
    box.setSelectionRange(at, at);
  }

  box.addEventListener("input", (event) => {
    if (event.isComposing) return;
    intoHeader();
    stop();
    if (!box.value.trim()) return;
    soon = setTimeout(() => {
      load(false);
      later = setTimeout(() => load(true), SETTLED - TYPING);
    }, TYPING);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (box.value.trim()) intoHeader();
    load(true);
  });
  found.addEventListener("pointerdown", () => { held = true; });
  for (const kind of ["pointerup", "pointercancel", "dragend"]) addEventListener(kind, () => { held = false; });
  addEventListener("popstate", () => location.reload());
}
