// Attention between words: to a split word the sum over its pieces, from it their mean, so that rows still sum to 1.

// weights [head, query, key] as {heads, queries, keys, values}; the unit of each query and key token, in order.
export function wordWeights(weights, queryUnits, keyUnits) {
  const { heads, queries, keys, values } = weights;
  const [rows, columns] = [unitCount(queryUnits), unitCount(keyUnits)];
  if (rows === queries && columns === keys) return weights;
  const pieces = new Int32Array(rows);
  for (const unit of queryUnits) pieces[unit]++;
  const out = new Float32Array(heads * rows * columns);
  for (let head = 0; head < heads; head++) {
    for (let query = 0; query < queries; query++) {
      const from = (head * queries + query) * keys;
      const to = (head * rows + queryUnits[query]) * columns;
      const share = 1 / pieces[queryUnits[query]];
      for (let key = 0; key < keys; key++) out[to + keyUnits[key]] += share * values[from + key];
    }
  }
  return { heads, queries: rows, keys: columns, values: out };
}

function unitCount(units) {
  return units.length ? units[units.length - 1] + 1 : 0;
}

// The mean over some heads (0-based) as attention of one head.
export function meanOfHeads({ queries, keys, values }, heads) {
  const size = queries * keys;
  const out = new Float32Array(size);
  for (const head of heads) for (let i = 0, from = head * size; i < size; i++) out[i] += values[from + i];
  if (heads.length) for (let i = 0; i < size; i++) out[i] /= heads.length;
  return { heads: 1, queries, keys, values: out };
}
