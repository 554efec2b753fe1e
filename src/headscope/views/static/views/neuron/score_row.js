// How one query's weights come about, step by step, so that a row of numbers adds up to the score.

// The vectors of one query or key of one head, as views of the layer's numbers.
export function queryVector({ q, queries, width }, head, query) {
  const at = (head * queries + query) * width;
  return q.subarray(at, at + width);
}

export function keyVector({ k, keys, width, groups }, head, key) {
  const at = (groups[head] * keys + key) * width;
  return k.subarray(at, at + width);
}

// The steps that a model has, in their order: the names of scoreRow's columns that the view shows.
export function scoreSteps(neuron, causal) {
  return [
    "dot",
    neuron.scaling === null || neuron.scaling === 1 ? null : "scaled",
    neuron.bias ? "bias" : null,
    neuron.softcap === null ? null : "capped",
    neuron.mask || causal ? "visible" : null,
    "score",
    "weight",
  ].filter(Boolean);
}

// Columns over the keys: dot = sum q k; scaled = scaling x dot; bias; capped = c tanh((scaled + bias) / c);
// score: the last of these; weight: the softmax of the scores of the visible keys.
export function scoreRow(neuron, head, query, { causal = false } = {}) {
  const { keys, queries, width, scaling, softcap, bias, biasRows, mask } = neuron;
  const q = queryVector(neuron, head, query);
  const columns = Object.fromEntries(["dot", "scaled", "bias", "capped", "score", "weight"].map((name) => [name, new Float64Array(keys)]));
  const visible = new Uint8Array(keys);
  const biasAt = ((biasRows === 1 ? 0 : head) * queries + query) * keys;
  let most = -Infinity;
  for (let key = 0; key < keys; key++) {
    const k = keyVector(neuron, head, key);
    let dot = 0;
    for (let i = 0; i < width; i++) dot += q[i] * k[i];
    const scaled = scaling === null ? dot : scaling * dot;
    const biased = bias ? scaled + bias[biasAt + key] : scaled;
    const score = softcap === null ? biased : softcap * Math.tanh(biased / softcap);
    visible[key] = mask ? mask[query * keys + key] : !causal || key <= query ? 1 : 0;
    columns.dot[key] = dot;
    columns.scaled[key] = scaled;
    columns.bias[key] = bias ? bias[biasAt + key] : 0;
    columns.capped[key] = score;
    columns.score[key] = score;
    if (visible[key]) most = Math.max(most, score);
  }
  let sum = 0;
  for (let key = 0; key < keys; key++) if (visible[key]) sum += columns.weight[key] = Math.exp(columns.score[key] - most);
  if (sum > 0) for (let key = 0; key < keys; key++) columns.weight[key] /= sum;
  return { q, visible, ...columns };
}
