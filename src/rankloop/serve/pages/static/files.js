// A file is read into the form; without scripts its content is pasted.
export function files() {
  for (const form of document.querySelectorAll("[data-file-form]")) {
    const chosen = form.querySelector("[data-file]"), text = form.querySelector("textarea");
    for (const one of form.querySelectorAll("[data-needs-script]")) one.hidden = false;
    chosen.addEventListener("change", async () => {
      const file = chosen.files[0];
      if (!file) return;
      text.value = await file.text();
      form.elements.file.value = file.name;
    });
  }
}
