// Pages with live figures bring themselves up to date, unless somebody types in them, reads a tip, or looks elsewhere.
// Every data-refresh seconds; a page that has become complete says 0.
export function refresh() {
  const place = document.querySelector("[data-refresh]");
  if (!place) return;
  const when = document.querySelector("[data-refreshed]");
  let touched = false;
  place.addEventListener("input", () => { touched = true; });
  const busy = () => touched || document.hidden || place.querySelector(":focus, :hover svg:hover") || document.querySelector("dialog[open]");

  async function again() {
    if (busy()) return later();
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (!answer.ok) throw new Error(answer.status);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.querySelector("[data-refresh]");
      if (!fresh || busy()) return later();
      const scrolled = [...place.querySelectorAll(".scroll")].map((one) => one.scrollLeft);
      place.replaceChildren(...fresh.childNodes);
      [...place.querySelectorAll(".scroll")].forEach((one, at) => { one.scrollLeft = scrolled[at] ?? 0; });
      place.dataset.refresh = fresh.dataset.refresh;
      if (when) when.textContent = `Brought up to date at ${new Date().toISOString().slice(11, 19)} UTC.`;
    } catch {
      if (when) when.textContent = "The service does not answer: these figures are old.";
    }
    later();
  }

  function later() {
    const seconds = Number(place.dataset.refresh);
    if (seconds) setTimeout(again, 1000 * seconds);
  }
  later();
}
