// What heads of layers below moved to a token, held to a plain loop over attention made by hand.
import assert from "node:assert/strict";
import { test } from "node:test";
import { movesTo } from "../../../src/headscope/views/static/views/head/moves.js";
import { writtenOfBytes } from "../../../src/headscope/views/static/views/decode.js";
import { randomWeights, weightsFrom } from "./support.mjs";

// Four tokens, A B A B: in layer 1 head 1 looks back by one, head 2 at the first token, of which it writes almost nothing.
const back = [[1, 0, 0, 0], [0.9, 0.1, 0, 0], [0, 0.9, 0.1, 0], [0, 0, 0.9, 0.1]];
const first = [[1, 0, 0, 0], [0.95, 0.05, 0, 0], [0.95, 0.05, 0, 0], [0.6, 0.3, 0.05, 0.05]];
const LAYER = {
  layer: 1, heads: [1, 2], weights: weightsFrom([back, first]),
  written: { keys: Float32Array.from([2, 2, 2, 2, 0.01, 1, 1, 1]), rows: Float32Array.from([1, 1, 1, 1, 1, 1, 1, 0.5]) },
};
const near = (moves) => moves.map(({ weight, norm, ...rest }) => ({ ...rest, weight: Number(weight.toFixed(4)), norm: norm === null ? null : Number(norm.toFixed(4)) }));

test("a previous-token head comes first by norm where a sink comes first by weight", () => {
  const { weight, norm } = movesTo([LAYER], 1, 4);
  assert.deepEqual(near(weight), [{ layer: 1, head: 2, from: 0, weight: 0.95, norm: 0.0095 }, { layer: 1, head: 1, from: 0, weight: 0.9, norm: 1.8 }]);
  assert.deepEqual(near(norm).map(({ head }) => head), [1, 2]);
});

test("what is written may be of another token than the one that is attended to most, and goes by its row", () => {
  const { weight, norm } = movesTo([LAYER], 3, 4);
  assert.deepEqual(near(weight).map(({ head, from }) => [head, from]), [[1, 2], [2, 0]]);
  assert.deepEqual(near(norm)[1], { layer: 1, head: 2, from: 1, weight: 0.3, norm: 0.15 });
});

test("the token itself moves nothing, and the first token has none to come from", () => {
  assert.deepEqual(movesTo([LAYER], 0, 4), { weight: [], norm: [] });
  assert.ok(movesTo([LAYER], 3, 4).weight.every(({ from }) => from !== 3));
});

test("without norms there are weights alone", () => {
  const { weight, norm } = movesTo([{ ...LAYER, written: null }], 1, 4);
  assert.deepEqual(near(weight).map(({ norm: own }) => own), [null, null]);
  assert.deepEqual(norm, []);
});

test("any attention, with a learned sink behind the tokens, agrees with a plain loop", () => {
  const [heads, tokens] = [3, 6];
  const layers = [1, 2, 4].map((layer) => ({
    layer, heads: [2, 5, 7], weights: randomWeights(heads, tokens, tokens + 1, layer),
    written: { keys: randomWeights(heads, 1, tokens, layer + 9).values, rows: randomWeights(heads, 1, tokens, layer + 17).values },
  }));
  for (let place = 0; place < tokens; place++) {
    const expected = { weight: [], norm: [] };
    for (const { layer, heads: labels, weights, written } of layers) {
      for (let head = 0; head < heads; head++) {
        const best = { weight: null, norm: null };
        for (let from = 0; from < tokens; from++) {
          if (from === place) continue;
          const weight = weights.values[head * tokens * (tokens + 1) + place * (tokens + 1) + from];
          const norm = weight * written.keys[head * tokens + from] * written.rows[head * tokens + place];
          const move = { layer, head: labels[head], from, weight, norm };
          for (const by of ["weight", "norm"]) if (!best[by] || move[by] > best[by][by]) best[by] = move;
        }
        for (const by of ["weight", "norm"]) expected[by].push(best[by]);
      }
    }
    for (const by of ["weight", "norm"]) expected[by].sort((a, b) => b[by] - a[by]);
    assert.deepEqual(movesTo(layers, place, tokens), expected);
  }
});

test("lengths are read as Python writes them: the keys of all layers, then the rows", () => {
  // 1, 2, 0.5, 4, 8, 0.25, 3, 1.5 in half precision: two layers of one head, two tokens.
  const halves = Uint16Array.from([0x3c00, 0x4000, 0x3800, 0x4400, 0x4800, 0x3400, 0x4200, 0x3e00]);
  const read = writtenOfBytes(new Uint8Array(halves.buffer), { layers: 2, heads: 1, tokens: 2 });
  assert.deepEqual(read.map(({ keys, rows }) => [[...keys], [...rows]]), [[[1, 2], [8, 0.25]], [[0.5, 4], [3, 1.5]]]);
  assert.throws(() => writtenOfBytes(new Uint8Array(12), { layers: 2, heads: 1, tokens: 2 }), /Expected 16 bytes/);
});
