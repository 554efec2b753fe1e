// How much attention the tokens of a sentence get, from one head and from uniform attention.

// How much a head attends to each token: the mean of weights[query][key] over the tokens that can see it. In a decoder a token
// is seen by itself and those behind it.
export function sharesOf(weights, causal) {
  const [queries, keys] = [weights.length, weights[0].length];
  return Array.from({ length: keys }, (_, key) => {
    const first = causal ? key : 0;
    let total = 0;
    for (let query = first; query < queries; query++) total += weights[query][key];
    return total / (queries - first);
  });
}

// What uniform attention would give a token, likewise.
export function uniformShare(keys, key, causal) {
  if (!causal) return 1 / keys;
  let total = 0;
  for (let query = key; query < keys; query++) total += 1 / (query + 1);
  return total / (keys - key);
}

// The head with the largest share of a token, of shares[head][key] with null for a head without a map; -1 where none has one.
export function strongestOf(shares, key) {
  return shares.reduce((best, own, head) => (own && (best < 0 || own[key] > shares[best][key]) ? head : best), -1);
}
