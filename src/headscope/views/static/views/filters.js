// Which units of an axis are shown: one sentence of a pair, and with or without special tokens.
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
