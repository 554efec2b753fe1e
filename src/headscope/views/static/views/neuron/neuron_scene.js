// The neuron view as a drawing: a row a key, from the vectors to the weight.
import { percent } from "../../core/format.js";

// High enough to be read from the back of a room.
export const NEURON_ROW = 32;

// Widths next to the vectors: of a key's name and of a step's number.
const COLUMNS = { label: 130, step: 76 };
const GAP = 16;
export const STEP_NAMES = {
  dot: { head: "q·k", title: "The sum of the products" },
  scaled: { head: "× scale", title: "q·k times the model's scaling" },
  bias: { head: "+ bias", title: "The position bias, added to the scaled product" },
  capped: { head: "soft-cap", title: "cap × tanh(score / cap)" },
  visible: { head: "mask", title: "Whether the query may see the key" },
  score: { head: "score", title: "The input of the softmax" },
  weight: { head: "weight", title: "exp(score) / the sum over visible keys" },
};

// Width of a vector's bars: wide enough to point at one number, and as wide as `room` for the whole table lets it be.
export function barsWidth(width, steps, room = 0) {
  const least = width <= 32 ? 5 : width <= 64 ? 3 : width <= 128 ? 2 : 1;
  const free = (room - COLUMNS.label - 3 * GAP - steps * (COLUMNS.step + GAP)) / 2;
  return width * Math.max(least, Math.min(10, Math.floor(free / width)));
}

// A signed number with a true minus.
export function signed(value) {
  if (!Number.isFinite(value)) return value < 0 ? "−∞" : "∞";
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const text = Math.abs(value).toFixed(digits);
  return value < 0 && Number(text) !== 0 ? `−${text}` : text;
}

export function stepText(name, row, key) {
  if (name === "visible") return row.visible[key] ? "seen" : "hidden";
  if (name === "weight") return row.visible[key] ? percent(row.weight[key]) : "–";
  if (name === "score" && !row.visible[key]) return "–";
  return signed(row[name][key]);
}

// `rows`: {row, order: keys as shown, keyVectors, products, labels, query, steps, scales: {vectors, products}}.
export function neuronScene({ row, order, vectors, products, labels, query, steps, scales, width, caption }) {
  const bars = barsWidth(width, steps.length);
  const total = COLUMNS.label + 2 * (bars + GAP) + steps.length * COLUMNS.step;
  const top = 28 + 2 * NEURON_ROW + 8;
  return {
    width: total,
    height: top + order.length * NEURON_ROW,
    title: caption,
    draw(surface, theme, margin) {
      const signs = { positive: theme.positive, negative: theme.negative };
      const [xk, xp] = [margin + COLUMNS.label, margin + COLUMNS.label + bars + GAP];
      const xs = steps.map((_, i) => xp + bars + GAP + (i + 1) * COLUMNS.step - 8);
      surface.text(caption, margin, margin + 8, { color: theme.ink, most: total });
      let y = margin + 28 + NEURON_ROW / 2;
      surface.text(query, margin, y, { color: theme.ink, bold: true, most: COLUMNS.label - 8, whole: query });
      surface.bars(row.q, xk, y - NEURON_ROW / 2 + 2, bars, NEURON_ROW - 4, { most: scales.vectors, ...signs });
      surface.text("← query q", xp, y, { color: theme.soft, size: 12 });
      y += NEURON_ROW;
      surface.text("key", margin, y, { color: theme.soft, size: 12 });
      surface.text("k", xk, y, { color: theme.soft, size: 12 });
      surface.text("q × k", xp, y, { color: theme.soft, size: 12 });
      steps.forEach((name, i) => surface.text(STEP_NAMES[name].head, xs[i], y, { color: theme.soft, size: 12, anchor: "end" }));
      order.forEach((key, place) => {
        const middle = margin + top + (place + 0.5) * NEURON_ROW;
        const color = row.visible[key] ? theme.ink : theme.soft;
        surface.text(labels[key], margin, middle, { color, most: COLUMNS.label - 8, whole: labels[key] });
        surface.bars(vectors(key), xk, middle - NEURON_ROW / 2 + 2, bars, NEURON_ROW - 4, { most: scales.vectors, ...signs });
        surface.bars(products(key), xp, middle - NEURON_ROW / 2 + 2, bars, NEURON_ROW - 4, { most: scales.products, ...signs });
        steps.forEach((name, i) => {
          if (name === "weight") surface.rect(xs[i] - COLUMNS.step + 14, middle - 9, (COLUMNS.step - 14) * row.weight[key], 18, { fill: theme.shade, opacity: 0.3 });
          surface.text(stepText(name, row, key), xs[i], middle, { color, size: 14, anchor: "end", bold: name === "weight" });
        });
      });
    },
  };
}
