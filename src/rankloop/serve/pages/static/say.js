// One short sentence at the bottom, read out by screen readers.
let fading = 0;

export function say(sentence, seconds = 3) {
  const place = document.getElementById("said");
  clearTimeout(fading);
  place.textContent = sentence;
  fading = setTimeout(() => { place.textContent = ""; }, seconds * 1000);
}
