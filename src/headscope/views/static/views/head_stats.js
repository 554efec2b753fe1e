// What a head does, in numbers, from its map: for sorting the model view.

export const HEAD_STATISTICS = [
  { name: "entropy", label: "entropy", share: false },
  { name: "previous", label: "to the previous token", share: true },
  { name: "next", label: "to the next token", share: true },
  { name: "current", label: "to itself", share: true },
  { name: "first", label: "to the first token", share: true },
];

// Means over the rows of one head of weights [head, query, key]; positions are null where the map is not square.
export function headStatistics({ queries, keys, values }, head, square) {
  const sums = { entropy: 0, previous: 0, next: 0, current: 0, first: 0 };
  for (let query = 0; query < queries; query++) {
    const row = (head * queries + query) * keys;
    for (let key = 0; key < keys; key++) {
      const weight = values[row + key];
      if (weight > 0) sums.entropy -= weight * Math.log(weight);
    }
    sums.first += values[row];
    if (!square) continue;
    if (query > 0) sums.previous += values[row + query - 1];
    if (query < queries - 1) sums.next += values[row + query + 1];
    sums.current += values[row + query];
  }
  const means = Object.fromEntries(Object.entries(sums).map(([name, sum]) => [name, queries ? sum / queries : 0]));
  return square ? means : { ...means, previous: null, next: null, current: null };
}

// The order of heads {statistics, role} by one statistic, most first, or by role, in the alphabet's order; those without
// it last; ties stay in the model's order.
export function headOrder(heads, name) {
  const places = heads.map((_, place) => place);
  if (!name) return places;
  if (name === "role") return places.sort((a, b) => roleRank(heads[a].role).localeCompare(roleRank(heads[b].role)) || a - b);
  const value = (place) => heads[place].statistics[name];
  return places.sort((a, b) => {
    if (value(a) === null || value(b) === null) return (value(a) === null) - (value(b) === null) || a - b;
    return value(b) - value(a) || a - b;
  });
}

function roleRank(role) {
  return role || "\uffff";
}

// The largest weight in each cell of a smaller picture, [side, side], of one head; sides follow the map where it is small.
export function pooledMap({ queries, keys, values }, head, most, rows, columns) {
  const [shownRows, shownColumns] = [rows || allOf(queries), columns || allOf(keys)];
  const [height, width] = [Math.min(most, shownRows.length), Math.min(most, shownColumns.length)];
  const cells = new Float32Array(height * width);
  for (let i = 0; i < shownRows.length; i++) {
    const from = (head * queries + shownRows[i]) * keys;
    const y = Math.floor((i * height) / shownRows.length) * width;
    for (let j = 0; j < shownColumns.length; j++) {
      const cell = y + Math.floor((j * width) / shownColumns.length);
      const weight = values[from + shownColumns[j]];
      if (weight > cells[cell]) cells[cell] = weight;
    }
  }
  return { width, height, cells };
}

function allOf(count) {
  return Int32Array.from({ length: count }, (_, i) => i);
}
