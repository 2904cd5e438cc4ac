// Sends what was seen, opened and read, without delaying the page.
// Only for results with a signed impression; a result is seen when half of it was in view for a second.
const LEFT = "rankloop.left", LOOK = 1000, LONGEST = 3600;
const looked = new Set();
let observer = null, looks = [];

export function events() {
  addEventListener("click", opened, true);
  addEventListener("auxclick", opened, true);
  addEventListener("pageshow", returned);
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") returned();
    else leave();
  });
  if (document.getElementById("found")) watch(document);
}

export function watch(inside) {
  observer ??= new IntersectionObserver(seen, { threshold: 0.5 });
  observer.disconnect();
  for (const result of inside.querySelectorAll("[data-impression]:not([data-impression='']) .result")) observer.observe(result);
}

function event(kind, result, value = null) {
  const { document: id, position } = result.dataset;
  const { impression } = result.closest("[data-impression]").dataset;
  return { id: identifier(), impression, kind, document: id, position: Number(position), value };
}

function identifier() {
  if (crypto.randomUUID) return crypto.randomUUID();
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (one) => one.toString(16).padStart(2, "0")).join("");
}

function send(events) {
  if (!events.length) return;
  const body = new Blob([JSON.stringify({ events })], { type: "application/json" });
  if (!navigator.sendBeacon("/events", body)) fetch("/events", { method: "POST", body, keepalive: true }).catch(() => {});
}

function opened(clicked) {
  const result = clicked.target.closest?.("a.open")?.closest(".result");
  if (!result || clicked.button > 1 || !result.closest("[data-impression]").dataset.impression) return;
  const click = event("click", result);
  look(result);
  send([...looks.splice(0), click]);
  sessionStorage.setItem(LEFT, JSON.stringify({ ...click, left: Date.now() }));
}

function leave() {
  send(looks.splice(0));
  const reading = JSON.parse(sessionStorage.getItem(LEFT));
  if (!document.getElementById("found")) return;  // a document of ours: it is being read, and was not just opened
  if (reading) sessionStorage.setItem(LEFT, JSON.stringify({ ...reading, left: Date.now() }));
}

function returned() {
  const reading = JSON.parse(sessionStorage.getItem(LEFT));
  if (!reading || !document.getElementById("found")) return;
  sessionStorage.removeItem(LEFT);
  const { left, ...click } = reading, seconds = Math.max(0, Date.now() - left) / 1000;
  if (seconds <= LONGEST) send([{ ...click, id: identifier(), kind: "dwell", value: seconds }]);
}

function seen(entries) {
  for (const { target, isIntersecting } of entries) {
    clearTimeout(target.looking);
    if (isIntersecting) target.looking = setTimeout(() => look(target), LOOK);
  }
}

function look(result) {
  if (!result.isConnected) return;
  const view = event("viewport", result), once = `${view.impression} ${view.document}`;
  if (looked.has(once)) return;
  looked.add(once);
  looks.push(view);
  if (looks.length === 1) setTimeout(() => send(looks.splice(0)), 2 * LOOK);
}
