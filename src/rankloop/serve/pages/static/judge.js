// A thumb stays pressed without loading the page again.
import { say } from "./say.js";

export function judge() {
  addEventListener("submit", async (event) => {
    const form = event.target.closest?.("form[data-judge]"), pressed = event.submitter;
    if (!form || !pressed) return;
    event.preventDefault();
    const fields = new URLSearchParams(new FormData(form, pressed));
    try {
      const answer = await fetch("/judge", { method: "POST", body: fields, headers: { Accept: "application/json" } });
      if (!answer.ok) throw new Error(answer.statusText);
      for (const button of form.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button === pressed));
      say("Saved, thank you.");
    } catch {
      say("This could not be saved; please try again.");
    }
  });
}
