// The head view as a drawing: tokens left and right, a line for each weight, and one token's attention alone.
import { bucketWeight, BUCKETS, lineFloor, lineOpacity, meanRow, weightsAt } from "./edges.js";
import { rowMiddle, slotOffset, stripCell } from "./layout.js";
import { colored } from "../frame.js";
import { percent } from "../../core/format.js";

// Lines drawn at a time.
const TOGETHER = 64;
// What is left of the opacity of lines that are drawn faintly.
const FAINT = 0.1;

// All lines that cross [top, top + height] of the column; `x0` and `x1` are their ends. It stops after every few lines,
// so that a page with many of them stays quick: whoever draws goes on with `next()`.
export function* paintEdges(surface, edges, looks, { step, x0, x1, top, height }) {
  const heads = looks.length;
  const offsets = looks.map((_, head) => slotOffset(head, heads, step));
  const { tiers, strongest, rows } = edges;
  const sharing = looks.reduce((sum, { of = 1 }) => sum + of, 0);
  for (let look = 0; look < tiers * BUCKETS; look++) {
    const isFaint = tiers === 2 && look < BUCKETS;
    const opacity = (isFaint ? FAINT : 1) * lineOpacity(bucketWeight(look % BUCKETS), { heads: sharing, rows, strongest });
    for (let head = 0; head < heads; head++) {
      const group = look * heads + head;
      const { color, dash } = looks[head];
      let ends = [];
      for (let i = edges.starts[group]; i < edges.starts[group + 1]; i++) {
        const from = rowMiddle(edges.query[i], step) + offsets[head];
        const to = rowMiddle(edges.key[i], step) + offsets[head];
        if (Math.max(from, to) < top - 2 || Math.min(from, to) > top + height + 2) continue;
        ends.push(x0, from, x1, to);
        if (ends.length === 4 * TOGETHER) {
          surface.lines(ends, { color, dash, opacity, width: 1.2 });
          ends = [];
          yield;
        }
      }
      if (ends.length) surface.lines(ends, { color, dash, opacity, width: 1.2 });
    }
  }
}

function drain(steps) {
  while (!steps.next().done);
}

// One token's weights toward the other side: {rows [head, place], mean [place], drawn [place]: a line reaches it}.
export function focusOf(frame, side, place) {
  const other = side === "query" ? "key" : "query";
  const unit = frame.shown[side][place];
  const rows = weightsAt(frame.weights, frame.heads, side, unit, frame.shown[other]);
  const count = frame.shown[other].length;
  const drawn = new Uint8Array(count);
  const floor = lineFloor(frame.state.least);
  let lines = 0;
  rows.forEach((weight, i) => {
    if (weight < floor) return;
    drawn[i % count] = 1;
    lines++;
  });
  return { side, other, place, rows, mean: meanRow(rows, frame.heads.length), drawn, lines, unit };
}

export function paintFocus(surface, focus, looks, { step, x0, x1, top, height, least }) {
  const heads = looks.length;
  const count = focus.drawn.length;
  const floor = lineFloor(least);
  const from = rowMiddle(focus.place, step);
  const cell = stripCell(heads, x1 - x0);
  const strip = cell ? cell * heads + 6 : 0;
  const inner = focus.side === "query" ? [x0, x1 - strip] : [x1, x0 + strip];
  for (let head = 0; head < heads; head++) {
    const { color, dash } = looks[head];
    const offset = slotOffset(head, heads, step);
    for (let place = 0; place < count; place++) {
      const weight = focus.rows[head * count + place];
      if (weight < floor) continue;
      const to = rowMiddle(place, step);
      if (Math.max(from, to) + step < top || Math.min(from, to) - step > top + height) continue;
      surface.lines([inner[0], from + offset, inner[1], to + offset], { color, dash, opacity: Math.min(1, 0.15 + 0.85 * Math.sqrt(weight)), width: 1 + 2.5 * weight });
    }
  }
  if (strip) paintStrips(surface, focus, looks, { step, top, height, cell, x: focus.side === "query" ? x1 - strip + 6 : x0, least });
}

// A cell for each head next to an attended token, always in the order of heads, so that position repeats the color.
function paintStrips(surface, focus, looks, { step, top, height, cell, x, least }) {
  const count = focus.drawn.length;
  for (let place = 0; place < count; place++) {
    const y = rowMiddle(place, step);
    if (!focus.drawn[place] || y + step < top || y - step > top + height) continue;
    looks.forEach(({ color }, head) => {
      const weight = focus.rows[head * count + place];
      surface.rect(x + head * cell, y - step / 2 + 3, cell - 1, step - 6, { fill: color, opacity: weight < lineFloor(least) ? 0.06 : Math.min(1, 0.15 + 0.85 * Math.sqrt(weight)) });
    });
  }
}

// The whole picture, for saving: with `focus`, one token's attention and its numbers.
export function headScene(frame, edges, widths, step, focus, caption) {
  const rows = Math.max(frame.shown.query.length, frame.shown.key.length);
  const head = 44;
  return {
    width: Math.max(widths.width, 300),
    height: head + rows * step,
    title: caption,
    draw(surface, theme, margin) {
      const x0 = margin + widths.share + widths.label + 8;
      const x1 = x0 + widths.lines - 16;
      const own = colored(frame.looks, theme);
      const range = { step, x0, x1, top: 0, height: rows * step, least: frame.state.least };
      surface.text(caption, margin, margin + 8, { color: theme.ink, most: this.width });
      paintKey(surface, own, margin, margin + 28, this.width, theme);
      surface.shift(0, margin + head);
      if (focus) paintFocus(surface, focus, own, range);
      else drain(paintEdges(surface, edges, own, range));
      for (const side of ["query", "key"]) {
        const left = side === "query";
        frame.labels[side].forEach((label, place) => {
          const isOn = focus && focus.side === side && focus.place === place;
          const isDim = focus && !isOn && (focus.side === side || !focus.drawn[place]);
          const y = rowMiddle(place, step);
          surface.text(label, left ? x0 - 8 : x1 + 8, y, {
            color: isDim ? theme.soft : theme.ink,
            anchor: left ? "end" : "start",
            bold: Boolean(isOn),
            most: widths.label - 8,
            whole: label,
            opacity: isDim ? 0.6 : 1,
          });
          if (focus && focus.other === side && focus.drawn[place]) {
            surface.text(percent(focus.mean[place]), left ? margin : margin + widths.width, y, { color: theme.soft, size: 12, anchor: left ? "start" : "end" });
          }
        });
      }
    },
  };
}

// The heads' colors and numbers in a row, as many as fit.
function paintKey(surface, looks, x, y, width, theme) {
  if (looks.length < 2) return;
  const step = 26;
  looks.slice(0, Math.floor(width / step)).forEach(({ color, name, dash }, place) => {
    surface.lines([x + place * step, y, x + place * step + 10, y], { color, dash, width: 3 });
    surface.text(name, x + place * step + 12, y, { color: theme.soft, size: 11 });
  });
}
