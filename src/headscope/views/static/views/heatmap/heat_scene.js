// The heat map as a drawing: the text in lines, each token on its shade.
import { shadeOf } from "../../core/colors.js";
import { shadeShare } from "./heat_values.js";

const TEXT_SIZE = 14;
const LINE_HEIGHT = 30;
const TOKEN_PAD = 4;
const TOKEN_GAP = 4;
const WIDEST_TOKEN = 240;

// `paragraphs`: [{name, labels, joined, values or null, chosen}], `scale` as `heatScale` returns it, `off`
// the places of the values that are off the scale.
export function heatScene({ paragraphs, scale, off = [], caption, width, measure }) {
  const placed = [];
  let y = 30;
  for (const { name, labels, joined, values, chosen } of paragraphs) {
    if (name) {
      placed.push({ text: name, x: 0, y: y + LINE_HEIGHT / 2, soft: true });
      y += LINE_HEIGHT;
    }
    let x = 0;
    labels.forEach((label, place) => {
      const wide = Math.min(WIDEST_TOKEN, measure(label, TEXT_SIZE)) + 2 * TOKEN_PAD;
      if (x > 0 && x + wide > width) [x, y] = [0, y + LINE_HEIGHT];
      else if (x > 0 && !joined[place]) x += TOKEN_GAP;
      placed.push({ text: label, x, y: y + LINE_HEIGHT / 2, wide, share: values ? shadeShare(values[place], scale) : 0, chosen: place === chosen, outlined: Boolean(values) && off.includes(place) });
      x += wide;
    });
    y += LINE_HEIGHT + 12;
  }
  return {
    width,
    height: y,
    title: caption,
    draw(surface, theme, margin) {
      surface.text(caption, margin, margin + 8, { color: theme.ink, most: width });
      for (const { text, x, y: middle, wide, share, chosen, outlined, soft } of placed) {
        if (soft) {
          surface.text(text, margin, margin + middle, { color: theme.soft, size: 12 });
          continue;
        }
        const { fill, ink } = shadeOf(share, theme);
        surface.rect(margin + x, margin + middle - 12, wide, 24, { fill, stroke: chosen ? theme.ink : outlined ? theme.soft : null });
        surface.text(text, margin + x + TOKEN_PAD, margin + middle, { color: ink, size: TEXT_SIZE, most: WIDEST_TOKEN, whole: text });
      }
    },
  };
}
