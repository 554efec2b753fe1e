// Everything a view needs to draw one layer in one state.
import { PAIRS, shownUnits, sinkUnits } from "./filters.js";
import { headColor, headDash } from "../core/colors.js";
import { headLabels } from "./embedded_source.js";
import { meanOfHeads } from "./word_level.js";
import { toldToken } from "./telling.js";

// heads: places in `weights`; looks: one for each of them.
export function frameOf({ state, kind, units, weights, theme }) {
  const options = { pairs: state.filter, special: state.special };
  const shown = { query: shownUnits(units.query, "query", options), key: shownUnits(units.key, "key", options) };
  const labels = {};
  for (const side of ["query", "key"]) labels[side] = Array.from(shown[side], (unit) => units[side].labels[unit]);
  const sinks = { query: sinkUnits(units.query, kind), key: sinkUnits(units.key, kind) };
  return { state, kind, units, weights, theme, shown, labels, sinks, square: !kind.keys };
}

// The frame with the head view's heads: the heads that are switched on, or their mean as one head in ink.
export function withHeads(frame) {
  const { state, weights, kind } = frame;
  const labels = headLabels(kind);
  const picks = state.heads.map((head) => labels.indexOf(head));
  if (!state.mean) return { ...frame, heads: picks, looks: state.heads.map((head, i) => headLook(picks[i], head)) };
  const looks = picks.length ? [{ ...MEAN_LOOK, of: picks.length }] : [];
  return { ...frame, weights: meanOfHeads(weights, picks), heads: looks.map(() => 0), looks };
}

// The frame of the views of one head with the mean over some heads, by label; over all where none is named.
export function withMean(frame, heads) {
  const labels = headLabels(frame.kind);
  const picks = heads.map((head) => labels.indexOf(head)).filter((place) => place >= 0);
  if (!picks.length || picks.length === labels.length) return withHead(frame, 0);
  return { ...frame, weights: meanOfHeads(frame.weights, picks), heads: [0], looks: [MEAN_LOOK] };
}

// The frame of the views of one head: `head` is a label, 0 the mean over the layer's heads.
export function withHead(frame, head) {
  const { weights, kind } = frame;
  if (head === 0 && kind.heads > 1) {
    const all = Array.from({ length: kind.heads }, (_, place) => place);
    return { ...frame, weights: meanOfHeads(weights, all), heads: [0], looks: [MEAN_LOOK] };
  }
  const labels = headLabels(kind);
  const place = Math.max(0, labels.indexOf(head));
  return { ...frame, heads: [place], looks: [headLook(place, labels[place])] };
}

// The frame as a view asks for it: with the heads that it draws.
export function framed(view, frame) {
  if (view.heads === "several") return withHeads(frame);
  if (view.heads === "mean") return withHead(frame, frame.state.head);
  if (view.heads === "one") return withHead(frame, frame.state.head || headLabels(frame.kind)[0]);
  return frame;
}

// `of`: how many heads it is the mean of; theirs are many weak lines.
const MEAN_LOOK = { head: null, dash: [], name: "mean" };

// The look of the head at a place in its layer, by its label.
export function headLook(head, label) {
  return { head, dash: headDash(head), name: String(label) };
}

// Looks with their colors in a theme: the screen's, or a saved picture's.
export function colored(looks, theme) {
  return looks.map((look) => ({ ...look, color: look.head === null ? theme.ink : headColor(look.head, theme.scheme) }));
}

// The shown place of a state's token (a position of a token), or -1.
export function placeOfToken(frame, token) {
  if (!token) return -1;
  const unit = frame.units[token.side].unitOf[token.at];
  return frame.shown[token.side].indexOf(unit);
}

export function tokenAt(frame, side, place) {
  return { side, at: frame.units[side].first[frame.shown[side][place]] };
}

// What is hidden, in words: "12 special tokens hidden", "A → B only"; empty when all is shown.
export function tellHidden(frame) {
  const { state, units } = frame;
  const parts = [];
  if (state.filter !== "all") parts.push(`${PAIRS[state.filter]} only`);
  if (!state.special) {
    const names = [...new Set([...units.key.special].map((unit) => toldToken(units.key.labels[unit])))].slice(0, 3);
    parts.push(`without ${names.join(", ") || "special tokens"}`);
  }
  return parts.join(", ");
}
