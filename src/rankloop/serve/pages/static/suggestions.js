// Titles that fit what is typed so far, as a combobox: arrows choose, Enter takes, Escape closes.
const PAUSE = 90, MOST = 5;  // milliseconds after the last key; suggestions

export function suggestions(box, take) {
  const list = document.createElement("ul");
  let running = new AbortController(), soon = 0, at = -1;
  Object.assign(list, { id: "suggestions", role: "listbox", ariaLabel: "Suggestions", hidden: true });
  box.after(list);
  for (const [name, value] of [["role", "combobox"], ["aria-autocomplete", "list"], ["aria-expanded", "false"],
    ["aria-controls", list.id], ["aria-haspopup", "listbox"]]) box.setAttribute(name, value);

  function ask() {
    clearTimeout(soon);
    running.abort();
    if (!box.value.trim()) close();
    else soon = setTimeout(load, PAUSE);
  }

  async function load() {
    const typed = box.value.trim();
    running = new AbortController();
    try {
      const query = new URLSearchParams({ query: typed, n: MOST });
      const answer = await fetch(`/suggest?${query}`, { signal: running.signal });
      if (!answer.ok) return;
      const { suggestions: found } = await answer.json();
      show(found.filter((one) => one.toLowerCase() !== typed.toLowerCase()));
    } catch {}  // searching goes on without them
  }

  function show(found) {
    list.replaceChildren(...found.map((text, number) => {
      const option = document.createElement("li");
      Object.assign(option, { id: `suggestion-${number}`, role: "option", textContent: text, dir: "auto" });
      option.setAttribute("aria-selected", "false");
      return option;
    }));
    choose(-1);
    if (found.length && document.activeElement === box) open();
    else close();
  }

  function open() {
    list.hidden = false;
    box.setAttribute("aria-expanded", "true");
  }

  function close() {
    clearTimeout(soon);
    running.abort();
    list.hidden = true;
    box.setAttribute("aria-expanded", "false");
    choose(-1);
  }

  function choose(number) {
    list.children[at]?.setAttribute("aria-selected", "false");
    at = number;
    const option = list.children[at];
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) box.setAttribute("aria-activedescendant", option.id);
    else box.removeAttribute("aria-activedescendant");
  }

  function pick(option) {
    const text = option.textContent;
    close();
    take(text);
  }

  box.addEventListener("keydown", (event) => {
    if (event.isComposing || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], places = list.children.length + 1;
    if (event.altKey && event.key === "ArrowDown" && places > 1) open();
    else if (list.hidden || event.altKey) return;
    else if (step) choose((at + 1 + step + places) % places - 1);
    else if (event.key === "Enter" && at >= 0) pick(list.children[at]);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  box.addEventListener("blur", close);
  list.addEventListener("pointerdown", (event) => event.preventDefault());  // the box keeps the focus
  list.addEventListener("click", (event) => {
    const option = event.target.closest("[role=option]");
    if (option) pick(option);
  });
  return { ask, close };
}
