// Marks the same document on both sides while the pointer or the focus is on one of them.
export function compare() {
  const sides = document.querySelector("[data-sides]");
  if (!sides) return;
  for (const kind of ["pointerover", "focusin"]) {
    sides.addEventListener(kind, (event) => {
      const wanted = event.target.closest("[data-document]")?.dataset.document;
      for (const one of sides.querySelectorAll("[data-document]")) one.classList.toggle("same", one.dataset.document === wanted);
    });
  }
}
