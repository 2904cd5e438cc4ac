// A thumb stays pressed, and nothing else moves.
import { say } from "./say.js";

export function judge() {
  addEventListener("submit", async (event) => {
    const form = event.target.closest?.("form[data-judge]"), pressed = event.submitter;
    if (!form || !pressed) return;
    event.preventDefault();
    const told = new URLSearchParams(new FormData(form, pressed));
    try {
      const answer = await fetch("/judge", { method: "POST", body: told, headers: { Accept: "application/json" } });
      if (!answer.ok) throw new Error(answer.statusText);
      for (const button of form.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button === pressed));
      say("Noted, thank you.");
    } catch {
      say("This could not be noted; please try again.");
    }
  });
}
