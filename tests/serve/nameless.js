// Controls and pictures that a screen reader has no name for.
() => {
  const controls = "a, button, input:not([type=hidden]), select, [role=img], [role=group]";
  const name = (one) => one.getAttribute("aria-label") || one.textContent.trim()
    || one.labels?.[0]?.textContent.trim() || one.querySelector("title")?.textContent.trim();
  return [...document.querySelectorAll(controls)]
    .filter((one) => one.checkVisibility() && !name(one))
    .map((one) => one.outerHTML);
}
