// Grades by key: 0 to 3 and u keep a grade and go on, j and k move, n writes a note, z takes the last grade back.
// Enter in a note keeps it with the grade that was given.
import { say } from "./say.js";

export function judge() {
  const pool = document.querySelector("[data-judging]");
  if (!pool) return;
  const items = [...pool.querySelectorAll("[data-document]")];
  const target = (at) => items[at]?.querySelector("button[name=grade]") ?? items[at]?.querySelector("a");
  let at = Math.max(0, items.findIndex((one) => one.id === "next"));

  function move(to) {
    at = Math.max(0, Math.min(to, items.length - 1));
    for (const one of items) one.classList.toggle("here", one === items[at]);
    target(at)?.focus({ preventScroll: true });
    items[at]?.scrollIntoView({ block: "nearest" });
  }

  async function send(address, fields) {
    // keepalive: a grade is kept also if the next query is opened at once
    const answer = await fetch(address, { method: "POST", body: fields, headers: { Accept: "application/json" }, keepalive: true });
    if (!answer.ok) throw new Error(answer.headers.get("X-Problem") || "This could not be saved; please try again.");
    const found = await answer.json();
    for (const live of document.querySelectorAll("[data-live]")) live.innerHTML = found.scores;
    return found;
  }

  function press(item, grade) {
    for (const button of item.querySelectorAll("button[name=grade]")) button.setAttribute("aria-pressed", String(button.value === grade));
  }

  const kept = new WeakMap(); // what is being kept for a document: a note comes after the grade, also if both are under way

  async function keep(item, button, onward) {
    const form = item.querySelector("form"), before = item.querySelector("[aria-pressed=true]")?.value ?? "";
    const fields = new URLSearchParams(new FormData(form, button));
    press(item, button.value);
    if (onward) move(items.indexOf(item) + 1);
    const sent = kept.has(item) ? kept.get(item).then(() => send("/judge", fields)) : send("/judge", fields);
    kept.set(item, sent.catch(() => {}));
    try {
      await sent;
    } catch (error) {
      press(item, before);
      say(error.message, 6);
    }
  }

  async function undo() {
    const form = document.querySelector("form[data-undo]");
    try {
      const found = await send(form.action, new URLSearchParams(new FormData(form)));
      const item = items.find((one) => one.dataset.document === found.document);
      if (item) { press(item, found.grade); move(items.indexOf(item)); }
      say(found.document ? (item ? "Taken back." : `Taken back, for “${found.query}”.`) : "There is nothing to take back.");
    } catch (error) {
      say(error.message, 6);
    }
  }

  addEventListener("submit", (event) => {
    const item = event.target.closest?.("[data-judging] [data-document]");
    if (event.target.matches("form[data-undo]")) { event.preventDefault(); undo(); }
    else if (item && event.submitter) { event.preventDefault(); keep(item, event.submitter, false); }
  });
  pool.addEventListener("focusin", (event) => {
    const item = event.target.closest("[data-document]");
    if (item) { at = items.indexOf(item); for (const one of items) one.classList.toggle("here", one === item); }
  });
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector("dialog[open]")) return;
    const item = items[at], typing = event.target.matches("input, select, textarea");
    if (typing) {
      if (event.key === "Escape") move(at);
      else if (event.key === "Enter" && event.target.name === "reason") {
        event.preventDefault();
        const given = item?.querySelector("[aria-pressed=true]");
        if (given) keep(item, given, false);
        else say("Give a grade too: a note is kept with it.");
      }
      return;
    }
    const grade = event.key === "u" ? "unsure" : event.key;
    const button = item?.querySelector(`button[name=grade][value="${CSS.escape(grade)}"]`);
    if (button) keep(item, button, true);
    else if (event.key === "j" || event.key === "ArrowDown") move(at + 1);
    else if (event.key === "k" || event.key === "ArrowUp") move(at - 1);
    else if (event.key === "n") item?.querySelector("input[name=reason]")?.focus();
    else if (event.key === "z") undo();
    else if (event.key === "ArrowRight") document.querySelector("[data-next-query]")?.click();
    else return;
    event.preventDefault();
  });
  if (items.length) move(at);
}
