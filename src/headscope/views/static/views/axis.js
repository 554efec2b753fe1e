// What a column of the views lists: tokens, or the words they make up.
import { visibleToken } from "../core/token_text.js";

// Behind a token that the model does not know, in every view and picture.
export const UNKNOWN = "*";
const CONTINUES = /^##(?=.)/;

export function hasWords(axis) {
  return axis.words.some((word) => word !== null);
}

// Units of an axis: labels, each unit's first token, each token's unit, and the payload's data on tokens, by unit.
export function unitsOf(axis, level) {
  const count = axis.tokens.length;
  const byWord = level === "word" && hasWords(axis);
  const unitOf = new Int32Array(count);
  const first = [];
  for (let i = 0; i < count; i++) {
    const word = axis.words[i];
    const joins = byWord && i > 0 && word !== null && word === axis.words[i - 1];
    if (!joins) first.push(i);
    unitOf[i] = first.length - 1;
  }
  const unknown = new Set((axis.unknown || []).map((i) => unitOf[i]));
  const special = new Set(axis.special.map((i) => unitOf[i]));
  const from = (position) => (position === null || position === undefined || position >= count ? null : unitOf[position]);
  return {
    count: first.length,
    labels: first.map((i, unit) => visibleToken(byWord ? wordText(axis, i) : axis.tokens[i]) + (unknown.has(unit) ? UNKNOWN : "")),
    unknown,
    // Text without a space before it: a later piece of a split word.
    joined: first.map((i) => i > 0 && axis.words[i] !== null && axis.words[i] === axis.words[i - 1]),
    first,
    unitOf,
    special,
    segmentB: from(axis.segment_b),
    generated: from(axis.generated),
    sink: from(axis.sink),
  };
}

function wordText(axis, start) {
  const word = axis.words[start];
  if (word === null) return axis.tokens[start];
  if (axis.word_text && axis.word_text[word] !== undefined) return axis.word_text[word];
  let text = "";
  for (let i = start; i < axis.tokens.length && axis.words[i] === word; i++) text += i === start ? axis.tokens[i] : axis.tokens[i].replace(CONTINUES, "");
  return text;
}

// The number of an axis's words (tokens, if there are no words) that the model does not know: {unknown, all, words}.
function countUnknown(axis) {
  const words = hasWords(axis);
  const idOf = (place) => (words && axis.words[place] !== null ? axis.words[place] : `token ${place}`);
  const hidden = new Set(axis.special);
  const all = new Set(axis.tokens.map((_, place) => place).filter((place) => !hidden.has(place)).map(idOf));
  return { unknown: new Set((axis.unknown || []).map(idOf)).size, all: all.size, words };
}

// "* 12 of 18 words unknown to this model: ...", and whose the words are where they are not those of the text; empty
// where there is neither. The axes of all kinds, each text once.
export function tellUnknown(kinds) {
  const axes = new Map(kinds.flatMap(({ queries, keys }) => [queries, keys && keys.sink === undefined ? keys : null]).filter(Boolean).map((axis) => [JSON.stringify(axis.tokens), axis]));
  const counts = [...axes.values()].map(countUnknown).filter(({ unknown }) => unknown);
  const notes = [...new Set([...axes.values()].map((axis) => axis.words_note).filter(Boolean))].map((note) => `At word level ${note}.`);
  if (!counts.length) return notes.join(" ");
  const told = counts.map(({ unknown, all, words }) => `${unknown} of ${all} ${words ? "words" : "tokens"}`).join(", and ");
  return [`${UNKNOWN} ${told} unknown to this model: it reads the same unknown token for each.`, ...notes].join(" ");
}
