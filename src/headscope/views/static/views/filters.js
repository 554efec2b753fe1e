// Which units of an axis are shown: one sentence of a pair, and with or without special tokens; and where attention
// rests that says little of the text.
import { cutToken, visibleToken } from "../core/token_text.js";
import { keysOf } from "./embedded_source.js";

const LONGEST_NAME = 12;
export const PAIRS = { all: "all", aa: "A → A", ab: "A → B", ba: "B → A", bb: "B → B" };

// Positions of the units shown on one side; `pairs` is a name in PAIRS, whose first letter is the queries'.
export function shownUnits(units, side, { pairs = "all", special = true } = {}) {
  const { count, segmentB } = units;
  const sentence = pairs === "all" || segmentB === null ? null : pairs[side === "query" ? 0 : 1];
  const [from, to] = sentence === "a" ? [0, segmentB] : sentence === "b" ? [segmentB, count] : [0, count];
  const shown = [];
  for (let unit = from; unit < to; unit++) if (special || !units.special.has(unit)) shown.push(unit);
  return Int32Array.from(shown);
}

// Positions that heads rest on: the special tokens; without any, the first token of a text read from left to right.
// A learned sink is an additional key.
export function sinkUnits({ special, sink }, { causal }) {
  const tokens = [...special].filter((unit) => unit !== sink);
  return tokens.length || !causal ? special : new Set([0, ...special]);
}

// The tokens that attention rests on, by name: "[CLS], [SEP]"; empty where there are none.
export function sinkNames(kind) {
  const { tokens, special, sink } = keysOf(kind);
  const places = [...sinkUnits({ special: new Set(special), sink }, kind)];
  return [...new Set(places.map((place) => cutToken(visibleToken(tokens[place]), LONGEST_NAME)))].slice(0, 3).join(", ");
}
