// The run's numbers: heads by kind, their statistics, and their maps on shared sentences (read when first needed).
import { upper } from "../core/format.js";
import { rowsOfText } from "../core/weights.js";

// A block of the document's data, or null where it has none (an explorer without a study).
export function block(id) {
  const element = document.getElementById(id);
  return element && JSON.parse(element.textContent);
}

export const data = block("data") || { kinds: [], roles: [], statistics: [], relations: [], measures: [] };
let mapsRead = null;

export function kindNamed(name) {
  return data.kinds.find((kind) => kind.kind === name);
}

export function pick(column, index) {
  return Array.isArray(column) ? column[index] : column;
}

// What else the grid can be colored by: how well heads find a relation, and further measures.
function further() {
  return [...(data.relations || []), ...(data.measures || [])];
}

// A measure's numbers in head order: a statistic's, how well heads find a relation, or another; undefined where it cannot occur.
export function columnsOf(kind, measure) {
  const one = further().find(({ name }) => name === measure);
  return one ? { value: one.values[kind.kind] } : kind.values[measure];
}

// One number with its interval, uniform value and n; null where the statistic cannot occur.
export function cellOf(kind, statistic, index) {
  const columns = columnsOf(kind, statistic);
  if (!columns || columns.value[index] === null) return null;
  return {
    value: columns.value[index],
    low: columns.low ? columns.low[index] : null,
    high: columns.high ? columns.high[index] : null,
    uniform: pick(columns.uniform ?? null, index),
    n: pick(columns.n ?? null, index),
  };
}

// The categories that color heads: attention targets if the run explained heads, else roles.
export const looks = data.looks || data.roles;
export const UNNAMED = "mixed"; // the category of the heads that fit no other

export function lookOf(kind, index) {
  return looks[(kind.looks || kind.roles)[index]];
}

export function roleNamed(name) {
  return data.roles.find((role) => role.name === name);
}

// What a head finds: relations at which it is held-out best and beats its baseline, and coreference.
export function findsOf(kind, index) {
  return (kind.finds && kind.finds[index]) || [];
}

// The behaviors that a head shows: those with the whole interval above the thresholds.
export function showsOf(kind, index) {
  return (kind.shows && kind.shows[index]) || [];
}

// What an analysis says of a head in a sentence; null where none does.
export function sentenceOf(kind, index) {
  return (kind.sentences || {})[index] || null;
}

// What a head does to the model, in a line; null where no effects were measured.
export function effectLineOf(kind, index) {
  return (kind.lines || {})[index] || null;
}

// Further sentences on a head, each a list of parts: text, or the text and the address of a head.
export function notesOf(kind, index) {
  return (kind.notes || {})[index] || [];
}

export function anythingFound() {
  return data.kinds.some((kind) => Object.keys(kind.finds || {}).length > 0);
}

export function statisticNamed(name) {
  return [...data.statistics, ...further()].find((measure) => measure.name === name);
}

export function headNumber(kind, index) {
  return `${Math.floor(index / kind.heads) + 1}-${(index % kind.heads) + 1}`;
}

// "Head 2-3"; if some layers of the model have no attention, "Head 2-3 (the model's layer 5)".
export function headTitle(kind, index) {
  const own = ownLayer(kind, Math.floor(index / kind.heads));
  const name = `${kind.label} ${headNumber(kind, index)}${own ? ` (${own})` : ""}`;
  return upper(name);
}

// What the model itself calls a layer, where it is not counted alike; else empty.
export function ownLayer(kind, layer) {
  return kind.own ? `the model’s layer ${kind.own[layer]}` : "";
}

export function anchorOf(kind, index) {
  return `${kind.kind}-${headNumber(kind, index)}`;
}

export function headAt(anchor) {
  const found = /^(encoder|decoder|cross)-(\d+)-(\d+)$/.exec(anchor);
  const kind = found && kindNamed(found[1]);
  if (!kind) return null;
  const [layer, head] = [Number(found[2]), Number(found[3])];
  if (layer < 1 || layer > kind.layers || head < 1 || head > kind.heads) return null;
  return { kind, index: (layer - 1) * kind.heads + head - 1 };
}

// A head's map on a sentence that all heads are drawn on, weights[query][key], or null when the run kept none.
export function mapOf(kind, index, number = 0) {
  const one = sharedSentences(kind)[number];
  if (!one || one.bytes[index] === null) return null;
  const { queries, keys, bytes } = one;
  return { queries, keys, weights: rowsOfText(bytes[index], queries.length, keys.length) };
}

// The sentences that all heads of a kind are drawn on: {queries, keys, bytes: one a head}.
export function sharedSentences(kind) {
  mapsRead = mapsRead || block("maps") || {};
  return (mapsRead[kind.kind] || { sentences: [] }).sentences;
}
