// What a column of the views lists: tokens, or the words they make up.
import { visibleToken } from "../core/token_text.js";

const CONTINUES = /^##(?=.)/;

export function hasWords(axis) {
  return axis.words.some((word) => word !== null);
}

// Units of an axis: labels, each unit's first token, each token's unit, and what the payload says of tokens, by unit.
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
  const special = new Set(axis.special.map((i) => unitOf[i]));
  const from = (position) => (position === null || position === undefined || position >= count ? null : unitOf[position]);
  return {
    count: first.length,
    labels: first.map((i) => visibleToken(byWord ? wordText(axis, i) : axis.tokens[i])),
    // Text that stands without a space before it: a later piece of a split word.
    joined: first.map((i) => i > 0 && axis.words[i] !== null && axis.words[i] === axis.words[i - 1]),
    first,
    unitOf,
    special,
    segmentB: from(axis.segment_b),
    generated: from(axis.generated),
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
