// Colors as numbers: a head's color and dash, the shade of a weight, and what can be read on it. Those of roles lie in
// data/palette.json (theme.js).

// Told apart with any kind of color vision, and 3:1 or more on the page; the order is that of the heads.
export const HEAD_COLORS = {
  light: [
    "#0072b2", "#d55e00", "#2d0f78", "#d26996", "#87965a", "#a50000",
    "#b469ff", "#001eff", "#4b0f4b", "#962d4b", "#780fc3", "#5a0000",
  ],
  dark: [
    "#62b4ea", "#f08a4b", "#963cff", "#ffff00", "#f00f5a", "#00ffc3",
    "#4b69b4", "#ff4b96", "#e1b400", "#b4ff96", "#9687ff", "#b44b00",
  ],
};
// The twelve heads of a layer of BERT are all solid; those past the twelfth have the same colors again, in dashes.
export const HEAD_DASHES = [[], [5, 3], [2, 2], [8, 2, 2, 2]];

export function headColor(head, scheme) {
  const colors = HEAD_COLORS[scheme];
  return colors[head % colors.length];
}

export function headDash(head) {
  return HEAD_DASHES[Math.floor(head / HEAD_COLORS.light.length) % HEAD_DASHES.length];
}

export function rgbOf(hex) {
  const number = parseInt(hex.slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}

export function hexOf(rgb) {
  return `#${rgb.map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`;
}

export function blend(from, to, share) {
  const [a, b] = [rgbOf(from), rgbOf(to)];
  return hexOf(a.map((part, i) => part + share * (b[i] - part)));
}

function luminance(hex) {
  const [r, g, b] = rgbOf(hex).map((part) => {
    const c = part / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

export function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

// The shade of a share in [0, 1] on the page's card: none at 0, the color at 1, and the ink that reads on it.
export function shadeOf(share, theme, color = theme.shade) {
  const fill = blend(theme.card, color, Math.min(1, Math.max(0, share)));
  // Black or white has 4.5:1 on any color.
  const inks = [theme.ink, "#000000", "#ffffff"];
  const ink = inks.find((one) => contrast(fill, one) >= 4.5);
  return { fill, ink };
}

// 256 colors from none to all, as bytes [r, g, b], for pictures of whole maps.
export function shadeTable(theme, color = theme.shade) {
  const table = new Uint8Array(256 * 3);
  for (let level = 0; level < 256; level++) table.set(rgbOf(blend(theme.card, color, level / 255)), 3 * level);
  return table;
}
