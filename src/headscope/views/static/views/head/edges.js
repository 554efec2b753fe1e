// The lines of the head view: every weight of a threshold or more, as flat arrays, the strongest last.
export const BUCKETS = 24;
// Maximum number of tokens at which even the faintest lines can be distinguished.
const ROOMY = 24;
// Means of many heads are small: a weight of at least this is drawn in full color if there is no larger one.
const LEAST_STRONGEST = 0.1;

// The opacity of a line: weight is opacity, and the faintest can still be seen. `strongest` is the weight of a line in
// full. Weak lines are many: in long texts (`rows`: tokens of a side), and with several heads, which share the ink of
// one; strong lines keep theirs.
export function lineOpacity(weight, { heads = 1, rows = 1, strongest = 1 } = {}) {
  const least = (0.07 * Math.min(1, ROOMY / rows)) / heads;
  const ink = Math.min(1, weight / strongest) ** 1.5;
  return least + (1 - least) * ink * (1 / heads + (1 - 1 / heads) * ink);
}

export function bucketOf(weight) {
  return Math.min(BUCKETS - 1, Math.floor(Math.sqrt(Math.min(1, Math.max(0, weight))) * BUCKETS));
}

// One opacity for all lines of a bucket: that of its middle.
export function bucketWeight(bucket) {
  return ((bucket + 0.5) / BUCKETS) ** 2;
}

// A threshold as float32 has it, so that a weight of exactly 0.01 reaches 0.01.
export function lineFloor(least) {
  return Math.fround(least);
}

// Lines between shown units: for each the head, the places of its query and key among those shown, and the weight.
// Sorted by bucket of weight, then head, so that lines of one look lie together. `faint`: {query, key}, the units whose
// lines are to be drawn faintly, or null; these lie in a tier of their own, before the others (`tiers` is 2 then).
// `strongest` is the largest weight of the others.
export function edgesOf({ queries, keys, values }, heads, shownQueries, shownKeys, least, faint = null) {
  const floor = lineFloor(least);
  const tiers = faint ? 2 : 1;
  const isFaint = faint && { query: shownQueries.map((unit) => Number(faint.query.has(unit))), key: shownKeys.map((unit) => Number(faint.key.has(unit))) };
  const tierOf = (i, j) => (faint && !isFaint.query[i] && !isFaint.key[j] ? 1 : 0);
  const groupOf = (h, i, j, weight) => (tierOf(i, j) * BUCKETS + bucketOf(weight)) * heads.length + h;
  const counts = new Int32Array(tiers * BUCKETS * heads.length + 1);
  let strongest = 0;
  const visit = (act) => {
    for (let h = 0; h < heads.length; h++) {
      for (let i = 0; i < shownQueries.length; i++) {
        const row = (heads[h] * queries + shownQueries[i]) * keys;
        for (let j = 0; j < shownKeys.length; j++) {
          const weight = values[row + shownKeys[j]];
          if (weight >= floor) act(h, i, j, weight);
        }
      }
    }
  };
  visit((h, i, j, weight) => {
    counts[groupOf(h, i, j, weight) + 1]++;
    if (weight > strongest && (tiers === 1 || tierOf(i, j))) strongest = weight;
  });
  for (let i = 1; i < counts.length; i++) counts[i] += counts[i - 1];
  const count = counts[counts.length - 1];
  const edges = { count, head: new Uint16Array(count), query: new Uint32Array(count), key: new Uint32Array(count), weight: new Float32Array(count) };
  const next = counts.slice();
  visit((h, i, j, weight) => {
    const at = next[groupOf(h, i, j, weight)]++;
    edges.head[at] = h;
    edges.query[at] = i;
    edges.key[at] = j;
    edges.weight[at] = weight;
  });
  return { ...edges, starts: counts, tiers, rows: Math.max(shownQueries.length, shownKeys.length), strongest: strongest ? Math.max(LEAST_STRONGEST, strongest) : 1 };
}

// One unit's weights against the shown units of the other side, a row a head: [head, shown].
export function weightsAt({ queries, keys, values }, heads, side, unit, shownOther) {
  const out = new Float32Array(heads.length * shownOther.length);
  heads.forEach((head, h) => {
    for (let j = 0; j < shownOther.length; j++) {
      const [query, key] = side === "query" ? [unit, shownOther[j]] : [shownOther[j], unit];
      out[h * shownOther.length + j] = values[(head * queries + query) * keys + key];
    }
  });
  return out;
}

// The mean over the heads of weightsAt's rows.
export function meanRow(rows, heads) {
  const width = heads ? rows.length / heads : 0;
  const out = new Float32Array(width);
  for (let i = 0; i < rows.length; i++) out[i % width] += rows[i] / heads;
  return out;
}

// The places of the largest entries of at least `least`, most first, leftmost where equal.
export function topPlaces(row, most, least) {
  const places = [];
  for (let place = 0; place < row.length; place++) if (row[place] >= least) places.push(place);
  places.sort((a, b) => row[b] - row[a] || a - b);
  return places.slice(0, most);
}
