// What a view shows, as a plain object, and as the part of an address behind `#`.
import { PAIRS, sinkNames } from "./filters.js";
import { hasWords } from "./axis.js";
import { headLabels, keysOf } from "./embedded_source.js";
import { OFFERED, VIEWS } from "./list.js";

// The choices of single views, once where two share one.
const OWN = [...new Map(VIEWS.flatMap(({ fields = [] }) => fields).map((field) => [field.name, field])).values()];
export const THRESHOLDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5];

// What can be chosen in an input: which levels and filters it offers.
export function offersOf(kind) {
  return {
    words: hasWords(kind.queries) || hasWords(keysOf(kind)),
    pairs: kind.kind !== "cross" && kind.queries.segment_b !== null && kind.queries.segment_b !== undefined,
    special: kind.queries.special.length + keysOf(kind).special.length > 0,
    faint: sinkNames(kind) !== "",
    steps: stepsOf(kind),
  };
}

// Rows that chose a generated token: the row before each. Empty without generated tokens.
export function stepsOf(kind) {
  const from = kind.queries.generated;
  if (from === null || from === undefined) return [];
  const rows = [];
  for (let at = Math.max(1, from); at < kind.queries.tokens.length; at++) rows.push(at - 1);
  return rows;
}

// All heads of a layer in their colors are many lines: they begin as their mean.
function meanAtFirst(heads, kind) {
  return kind.heads > 1 && heads.length === kind.heads;
}

export function firstState(payload) {
  const [kind] = payload.kinds;
  return {
    view: OFFERED[0],
    kind: kind.kind,
    layer: kind.layers[0],
    heads: headLabels(kind),
    head: 0,
    mean: meanAtFirst(headLabels(kind), kind),
    level: "token",
    filter: "all",
    special: true,
    faint: true,
    least: THRESHOLDS[0],
    token: null,
    ...Object.fromEntries(OWN.map(({ name, options }) => [name, options(kind)[0][0]])),
    open: false,
  };
}

export function range(from, to) {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i);
}

// [1, 2, 3, 7] as "1-3,7", and back.
export function writeNumbers(numbers) {
  const sorted = [...new Set(numbers)].sort((a, b) => a - b);
  const runs = [];
  for (const number of sorted) {
    const last = runs.at(-1);
    if (last && last[1] === number - 1) last[1] = number;
    else runs.push([number, number]);
  }
  return runs.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(",") || "none";
}

export function readNumbers(text, most) {
  if (text === "none") return [];
  const numbers = new Set();
  for (const part of text.split(",")) {
    const found = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(part);
    if (!found) return null;
    for (const number of range(Number(found[1]), Math.min(most, Number(found[2] || found[1])))) if (number >= 1 && number <= most) numbers.add(number);
  }
  return numbers.size ? [...numbers].sort((a, b) => a - b) : null;
}

// A whole state from parts of one; a part that this input does not offer falls back to the first state's.
export function settle(parts, payload) {
  const first = firstState(payload);
  const given = { ...first, ...Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined && value !== null)) };
  const kind = payload.kinds.find((one) => one.kind === given.kind) || payload.kinds[0];
  const offers = offersOf(kind);
  const heads = headsOf(parts.heads, kind);
  const oneOf = (value, values, other) => (values.includes(value) ? value : other);
  return {
    view: oneOf(given.view, VIEWS.map(({ name }) => name), OFFERED[0]),
    kind: kind.kind,
    layer: oneOf(given.layer, kind.layers, kind.layers[0]),
    heads,
    head: oneOf(given.head, headLabels(kind), 0),
    mean: typeof parts.mean === "boolean" ? parts.mean : meanAtFirst(heads, kind),
    level: given.level === "word" && offers.words ? "word" : "token",
    filter: offers.pairs ? oneOf(given.filter, Object.keys(PAIRS), "all") : "all",
    special: offers.special ? given.special !== false : true,
    faint: offers.faint ? given.faint !== false : true,
    least: oneOf(given.least, THRESHOLDS, THRESHOLDS[0]),
    token: tokenOf(given.token, kind),
    ...Object.fromEntries(OWN.map(({ name, options }) => [name, chosenOf(given[name], options(kind))])),
    open: given.open === true,
  };
}

function chosenOf(value, options) {
  return options.some(([known]) => known === value) ? value : options[0][0];
}

// The heads that are on; none only where that was said.
function headsOf(heads, kind) {
  const all = headLabels(kind);
  if (!Array.isArray(heads)) return all;
  const known = all.filter((head) => heads.includes(head));
  return heads.length && !known.length ? all : known;
}

function tokenOf(token, kind) {
  if (!token || (token.side !== "query" && token.side !== "key")) return null;
  const { tokens } = token.side === "query" ? kind.queries : keysOf(kind);
  return Number.isInteger(token.at) && token.at >= 0 && token.at < tokens.length ? { side: token.side, at: token.at } : null;
}

// The part of the address after `#`: only differences from the first state, always in the same order.
export function writeState(state, payload) {
  const first = firstState(payload);
  const kind = payload.kinds.find((one) => one.kind === state.kind);
  const parts = [["view", state.view]];
  const add = (name, text, usual) => text !== usual && parts.push([name, text]);
  add("kind", state.kind, first.kind);
  add("layer", String(state.layer), "");
  add("heads", writeNumbers(state.heads), writeNumbers(headLabels(kind)));
  add("head", String(state.head), "0");
  add("mean", state.mean ? "1" : "0", meanAtFirst(state.heads, kind) ? "1" : "0");
  for (const name of ["level", "filter", ...OWN.map((field) => field.name)]) add(name, state[name], first[name]);
  add("special", state.special ? "1" : "0", "1");
  add("faint", state.faint ? "1" : "0", "1");
  add("least", String(state.least), String(first.least));
  add("token", state.token ? `${state.token.side[0]}${state.token.at + 1}` : "", "");
  add("open", state.open ? "1" : "0", "0");
  return parts.map(([name, text]) => `${name}=${encodeURIComponent(text).replaceAll("%2C", ",")}`).join("&");
}

// The state that an address names; values that it does not name, or that this input does not offer, are the defaults.
export function readState(hash, payload) {
  const named = {};
  for (const part of hash.replace(/^#/, "").split("&")) {
    const [name, value] = part.split("=");
    if (value !== undefined) named[name] = decoded(value);
  }
  const kind = payload.kinds.find((one) => one.kind === named.kind) || payload.kinds[0];
  const number = (text) => (text !== undefined && /^\d{1,5}$/.test(text) ? Number(text) : undefined);
  const flag = (text) => (text === "1" ? true : text === "0" ? false : undefined);
  const token = /^([qk])(\d{1,6})$/.exec(named.token || "");
  return settle(
    {
      ...named,
      layer: number(named.layer),
      heads: named.heads === undefined ? undefined : readNumbers(named.heads, Math.max(...headLabels(kind))),
      head: number(named.head),
      mean: flag(named.mean),
      special: flag(named.special),
      faint: flag(named.faint),
      least: named.least === undefined ? undefined : Number(named.least),
      token: token ? { side: token[1] === "q" ? "query" : "key", at: Number(token[2]) - 1 } : undefined,
      open: flag(named.open),
    },
    payload,
  );
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
