// Maps and payloads made by hand for the tests of the scripts.
import { readFileSync } from "node:fs";

export const STATIC = "../../../src/headscope/views/static";

export function golden(name) {
  return JSON.parse(readFileSync(new URL(`../golden/${name}.json`, import.meta.url), "utf8"));
}

// {heads, queries, keys, values} from nested lists [head][query][key].
export function weightsFrom(nested) {
  return { heads: nested.length, queries: nested[0].length, keys: nested[0][0].length, values: Float32Array.from(nested.flat(2)) };
}

export function axisOf(tokens, more = {}) {
  return { tokens, words: tokens.map(() => null), word_text: [], segment_b: null, generated: null, special: [], ...more };
}

export function kindOf(axis, more = {}) {
  return { kind: "encoder", layers: [1, 2, 3], heads: 4, head_labels: null, queries: axis, keys: null, causal: false, roles: null, neuron: null, no_neuron: null, ...more };
}

export function payloadOf(...kinds) {
  return { schema: "headscope.attention", version: 1, title: "A title", model: "tiny", largest_error: 0.001, kinds };
}

// Random rows that sum to 1.
export function randomWeights(heads, queries, keys, seed = 1) {
  let state = seed;
  const next = () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
  return weightsFrom(
    Array.from({ length: heads }, () =>
      Array.from({ length: queries }, () => {
        const row = Array.from({ length: keys }, () => Math.exp(4 * next()));
        const sum = row.reduce((a, b) => a + b, 0);
        return row.map((value) => value / sum);
      }),
    ),
  );
}

export function close(assert, one, other, most = 1e-6) {
  assert.equal(one.length, other.length);
  for (let i = 0; i < one.length; i++) assert.ok(Math.abs(one[i] - other[i]) <= most, `entry ${i}: ${one[i]} is not ${other[i]}`);
}
