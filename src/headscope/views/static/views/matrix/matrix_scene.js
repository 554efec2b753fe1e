// The matrix as a drawing: queries down, keys across, a cell's shade its weight; labels stay in view.
import { shadeTable } from "../../core/colors.js";

const LEAST_LABEL = 12;

// Colors of the shown cells, [row, column, 4], on a square-root scale up to the largest of them.
export function matrixPicture({ weights, heads, shown }, theme) {
  const [rows, columns] = [shown.query.length, shown.key.length];
  const { queries, keys, values } = weights;
  const weight = new Float32Array(rows * columns);
  let most = 0;
  for (let i = 0; i < rows; i++) {
    const from = (heads[0] * queries + shown.query[i]) * keys;
    for (let j = 0; j < columns; j++) {
      const one = values[from + shown.key[j]];
      weight[i * columns + j] = one;
      if (one > most) most = one;
    }
  }
  return { rows, columns, weight, most, rgba: shadedPixels(weight, most, theme) };
}

export function shadedPixels(weight, most, theme, color = theme.shade) {
  const table = shadeTable(theme, color);
  const rgba = new Uint8ClampedArray(4 * weight.length);
  for (let i = 0; i < weight.length; i++) {
    const level = 3 * (most > 0 ? Math.round(255 * Math.sqrt(weight[i] / most)) : 0);
    rgba[4 * i] = table[level];
    rgba[4 * i + 1] = table[level + 1];
    rgba[4 * i + 2] = table[level + 2];
    rgba[4 * i + 3] = 255;
  }
  return rgba;
}

// Sizes: a cell, the labels' margins, and the whole. `room` is the width to fit into.
export function matrixSizes({ rows, columns }, room, longest, { readable = false } = {}) {
  const side = Math.min(Math.max(40, longest + 12), room < 480 ? 84 : 150);
  const top = Math.min(Math.max(40, longest + 12), 110);
  const fit = Math.min(28, Math.max(1, (room - side - 2) / Math.max(1, columns)));
  const cell = readable ? Math.max(14, fit) : fit;
  return { cell, side, top, fits: fit >= 12, width: side + cell * columns, height: top + cell * rows };
}

// `view`: scroll position and visible size; `spot`: {row, column}, either -1.
export function paintMatrix(surface, { picture, labels, sizes, view, spot, theme }) {
  const { cell, side, top } = sizes;
  const { left, top: down, width, height } = view;
  surface.rect(0, 0, width, height, { fill: theme.card });
  surface.pixels(picture.rgba, picture.columns, picture.rows, side - left, top - down, cell * picture.columns, cell * picture.rows);
  const [x, y] = [side - left + spot.column * cell, top - down + spot.row * cell];
  const whole = [cell * picture.columns, cell * picture.rows];
  if (spot.row >= 0) surface.rect(side - left, y, whole[0], cell, { stroke: theme.ink, opacity: 0.8 });
  if (spot.column >= 0) surface.rect(x, top - down, cell, whole[1], { stroke: theme.ink, opacity: 0.8 });
  surface.rect(0, 0, width, top, { fill: theme.card });
  surface.rect(0, 0, side, height, { fill: theme.card });
  const every = Math.max(1, Math.ceil(LEAST_LABEL / cell));
  const size = Math.max(11, Math.min(12, cell - 1));
  const label = (text, place, across, on) => {
    const middle = (place + 0.5) * cell;
    const at = across ? side - left + middle : top - down + middle;
    if (at < (across ? side : top) || at > (across ? width : height)) return;
    const look = { color: on ? theme.ink : theme.soft, size: on ? 12 : size, bold: on, whole: text };
    if (on) {
      const long = 14;
      if (across) surface.rect(at - long / 2, 0, long, top - 2, { fill: theme.card });
      else surface.rect(0, at - long / 2, side - 2, long, { fill: theme.card });
    }
    if (across) surface.text(text, at, top - 5, { ...look, turn: -90, most: top - 12 });
    else surface.text(text, side - 6, at, { ...look, anchor: "end", most: side - 10 });
  };
  labels.key.forEach((text, place) => place % every === 0 && label(text, place, true, false));
  labels.query.forEach((text, place) => place % every === 0 && label(text, place, false, false));
  if (spot.column >= 0) label(labels.key[spot.column], spot.column, true, true);
  if (spot.row >= 0) label(labels.query[spot.row], spot.row, false, true);
  surface.rect(0, 0, side, top, { fill: theme.card });
  surface.text("key →", side - 6, top - 22, { color: theme.soft, size: 11, anchor: "end" });
  surface.text("query ↓", side - 6, top - 8, { color: theme.soft, size: 11, anchor: "end" });
}
