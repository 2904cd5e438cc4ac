// "why" opens an explanation beneath its result.
import { say } from "./say.js";

export function why() {
  addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-why]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    toggle(link);
  });
}

export async function toggle(link) {
  const result = link.closest(".result"), open = result.querySelector(".why");
  if (open) {
    open.remove();
    link.setAttribute("aria-expanded", "false");
    return;
  }
  if (link.getAttribute("aria-expanded") === "true") return;
  link.setAttribute("aria-expanded", "true");
  try {
    const answer = await fetch(`${link.getAttribute("href")}&fragment=1`);
    if (!answer.ok) throw new Error(answer.statusText);
    result.insertAdjacentHTML("beforeend", await answer.text());
  } catch {
    link.setAttribute("aria-expanded", "false");
    say("The explanation is not available.");
  }
}
