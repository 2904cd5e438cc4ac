// "More results" are put below those that are there: a part of the same page, under the same impression.
import { watch } from "./events.js";
import { say } from "./say.js";

export function following() {
  document.getElementById("found")?.addEventListener("click", async (event) => {
    const link = event.target.closest?.("a[data-following]");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const results = link.closest(".results"), list = results.querySelector("ol"), more = link.closest(".more");
    if (more.dataset.busy) return;
    more.dataset.busy = "1";
    try {
      const answer = await fetch(link.dataset.following);
      if (!answer.ok) throw new Error(answer.headers.get("X-Problem") || "The search is not available");
      const part = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (!results.isConnected) return;  // another search was faster
      const added = [...part.querySelectorAll(".result")];
      list.append(...added);
      const rest = [...part.querySelectorAll(".more, .ends")];
      more.replaceWith(...rest);
      watch(results);
      (added[0]?.querySelector("a.open") ?? results).focus();
      say(`${added.length} more results`);
    } catch (problem) {
      delete more.dataset.busy;
      say(`${problem.message}; try again.`, 6);
    }
  });
}
