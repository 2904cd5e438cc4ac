// Words of figures that overlap each other or stick out of their figure.
() => [...document.querySelectorAll("svg")].filter((one) => one.checkVisibility()).flatMap((svg) => {
  const box = svg.getBoundingClientRect(), found = [];
  const words = [...svg.querySelectorAll("text")].map((one) => [one.getBoundingClientRect(), one.lastChild.data]);
  words.forEach(([a, text], i) => {
    if (a.left < box.left - 2 || a.right > box.right + 2 || a.top < box.top - 2 || a.bottom > box.bottom + 4) {
      found.push([svg.querySelector("title").textContent, "sticks out", text]);
    }
    words.slice(i + 1).forEach(([b, other]) => {
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 1 && high > 4) found.push([svg.querySelector("title").textContent, "overlap", text, other]);
    });
  });
  return found;
})
