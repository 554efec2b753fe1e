// What heads of the layers below moved to a token: the first of two steps, of which the second is an attention to that token.

// `layers`: [{layer, heads: labels, weights: {heads, queries, keys, values}, written: {keys, rows} or null}], those below;
// `written.keys[head * tokens + token]` and `written.rows[head * queries + row]` are a layer's of `writtenOfBytes`. `place`: the
// token that something was moved to; `tokens`: how many there are, without a learned sink. Of each head two moves, from the other
// token that it attends to most and from that of which it writes most: {layer, head, from, weight, norm}, `norm` null where it
// is not known.
export function movesTo(layers, place, tokens) {
  const moves = { weight: [], norm: [] };
  for (const { layer, heads, weights, written } of layers) {
    const { queries, keys, values } = weights;
    heads.forEach((head, at) => {
      const row = (at * queries + place) * keys;
      const weightOf = (from) => values[row + from];
      const normOf = (from) => written && weightOf(from) * written.keys[at * tokens + from] * written.rows[at * queries + place];
      for (const [by, amountOf] of [["weight", weightOf], ["norm", normOf]]) {
        if (by === "norm" && !written) continue;
        const from = largest(amountOf, place, tokens);
        if (from >= 0 && amountOf(from) > 0) moves[by].push({ layer, head, from, weight: weightOf(from), norm: normOf(from) });
      }
    });
  }
  for (const by of ["weight", "norm"]) moves[by].sort((a, b) => b[by] - a[by] || a.layer - b.layer || a.head - b.head);
  return moves;
}

// The token with the largest amount, the first of equal ones; -1 if there is none but `place` itself.
function largest(amountOf, place, tokens) {
  let best = -1;
  for (let from = 0; from < tokens; from++) if (from !== place && (best < 0 || amountOf(from) > amountOf(best))) best = from;
  return best;
}
