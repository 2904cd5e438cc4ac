// Another order is taken as soon as it is chosen; without scripts there is a button.
export function order() {
  addEventListener("change", (event) => {
    if (event.target.matches?.("[data-order]")) event.target.form.requestSubmit();
  });
}
