// The value of a slider is written beside it.
export function ranges() {
  for (const slider of document.querySelectorAll("[data-range]")) {
    const shown = slider.closest("label").querySelector("[data-range-value]");
    slider.addEventListener("input", () => { shown.textContent = slider.value; });
  }
}
