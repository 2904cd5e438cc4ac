// Texts whose contrast with what is behind them is below 4.5 (WCAG AA).
() => {
  const numbers = (text) => {
    const found = text.match(/[\d.]+/g).map(Number);
    if (text.startsWith("color(")) return [...found.slice(0, 3).map((one) => one * 255), found[3] ?? 1];
    return [...found, 1].slice(0, 4);
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const behind = (one) => {
    const layers = [];
    for (let at = one; at; at = at.parentElement) layers.unshift(numbers(getComputedStyle(at).backgroundColor));
    return layers.reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const light = (colour) => [0.2126, 0.7152, 0.0722].reduce((sum, weight, i) => {
    const c = colour[i] / 255;
    return sum + weight * (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  }, 0);
  const contrast = (one) => {
    const back = behind(one), front = over(numbers(getComputedStyle(one).color), back);
    const [high, low] = [light(back), light(front)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  const speaks = (one) => [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  return [...document.querySelectorAll("body *:not(svg *)")]
    .filter((one) => one.checkVisibility() && speaks(one) && contrast(one) < 4.5)
    .map((one) => [contrast(one), one.outerHTML.slice(0, 120)]);
}
