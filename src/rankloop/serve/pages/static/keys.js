// Keyboard shortcuts: / types, j and k move, Enter opens, w explains, ? shows help.
import { toggle } from "./why.js";

export function keys() {
  const help = document.getElementById("help"), button = document.querySelector("[data-help]");
  button.hidden = false;
  button.addEventListener("click", () => help.showModal());
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || help.open) return;
    const box = document.querySelector("[data-ask] [name=q]"), typing = event.target.matches("input, select, textarea");
    const links = [...document.querySelectorAll(".result a.open")];
    const at = links.indexOf(event.target.closest(".result")?.querySelector("a.open"));
    const arrow = { ArrowDown: 1, ArrowUp: -1 }[event.key], letter = { j: 1, k: -1 }[event.key];
    if (event.target === box && event.key === "ArrowDown" && links.length) links[0].focus();
    else if (typing) return;
    else if (event.key === "/" && box) { box.focus(); box.select(); }
    else if (event.key === "?") help.showModal();
    else if (event.key === "w" && at >= 0) toggle(links[at].closest(".result").querySelector("[data-why]"));
    else if (letter && links.length) move(at < 0 ? 0 : at + letter);
    else if (arrow && at >= 0) move(at + arrow);
    else return;
    event.preventDefault();

    function move(to) {
      if (to < 0) box.focus();
      else links[Math.min(to, links.length - 1)].focus();
    }
  });
}
