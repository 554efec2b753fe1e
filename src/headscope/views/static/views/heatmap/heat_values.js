// The number that shades each token of the heat map.

// Values of the shown units of the shaded side: `received` shades keys, `given` queries. `place` is the chosen token's
// place on the other side, or -1 for all of them:
// received from one token: its row; from all: the mean over the queries that can see the key;
// given to one token: its column; to all: the largest weight that the token gives, a measure of focus.
export function heatValues({ weights, heads, shown, kind, units }, direction, place) {
  const { queries, keys, values } = weights;
  const base = heads[0] * queries;
  const at = (query, key) => values[(base + query) * keys + key];
  const { query: rows, key: columns } = shown;
  const sink = units ? units.key.sink : null; // every query sees it
  if (direction === "received") {
    if (place >= 0) return Float32Array.from(columns, (key) => at(rows[place], key));
    return Float32Array.from(columns, (key) => {
      const seeing = kind.causal && key !== sink ? rows.filter((query) => query >= key) : rows;
      return seeing.length ? seeing.reduce((sum, query) => sum + at(query, key), 0) / seeing.length : 0;
    });
  }
  if (place >= 0) return Float32Array.from(rows, (query) => at(query, columns[place]));
  return Float32Array.from(rows, (query) => columns.reduce((most, key) => Math.max(most, at(query, key)), 0));
}

// The values of no shade and of the full shade: the smallest and the largest, so that tokens whose values are close are
// told apart. The places in `sinks` are not counted, and are off the scale where they are larger: {least, most, off:
// their places}. They alone make the scale where nothing else has a value.
export function heatScale(values, sinks) {
  const ordinary = Array.from(values).filter((_, place) => !sinks.has(place));
  const counted = ordinary.some((value) => value > 0) ? ordinary : Array.from(values);
  if (!counted.length) return { least: 0, most: 0, off: [] };
  const [smallest, most] = [Math.min(...counted), Math.max(...counted)];
  // Equal values are all shaded in full, as shares of the largest.
  const least = smallest < most ? smallest : 0;
  return { least, most, off: [...values.keys()].filter((place) => sinks.has(place) && values[place] > most) };
}

// How much of the full shade a value has, in [0, 1].
export function shadeShare(value, { least, most }) {
  return most > 0 ? Math.min(1, Math.max(0, (value - least) / (most - least))) : 0;
}

// What the shade means, in words. A word of several tokens receives the sum over them, and gives their mean.
export function tellHeat(direction, chosen, level = "token") {
  const one = level === "word" ? "word" : "token";
  const joined = level === "word" ? " (a split word: the sum to its tokens, the mean from them)" : "";
  if (direction === "received") {
    return chosen ? `Shade: how much of the attention of ${chosen} each ${one} receives${joined}` : `Shade: mean attention that each ${one} receives, over the ${one}s that see it${joined}`;
  }
  return chosen ? `Shade: how much of its attention each ${one} gives to ${chosen}${joined}` : `Shade: the largest weight that each ${one} gives to any ${one}${joined}`;
}
