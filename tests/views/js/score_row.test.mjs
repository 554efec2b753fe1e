import assert from "node:assert/strict";
import { test } from "node:test";
import { keyVector, queryVector, scoreRow, scoreSteps } from "../../../src/headscope/views/static/views/neuron/score_row.js";
import { signed, stepText } from "../../../src/headscope/views/static/views/neuron/neuron_scene.js";
import { embeddedSource } from "../../../src/headscope/views/static/views/embedded_source.js";
import { close, golden } from "./support.mjs";

// Two heads that share one group of keys; two queries, three keys, vectors of two numbers.
const NEURON = {
  heads: 2, queries: 2, keys: 3, width: 2, groups: [0, 0],
  q: Float32Array.from([1, 2, 0, 0, 3, 0, -1, 1]),
  k: Float32Array.from([1, 0, 0, 1, 1, 1]),
  scaling: 0.5, softcap: null, bias: null, biasRows: 0, mask: null,
};

test("vectors of a head, a query and a key", () => {
  assert.deepEqual(Array.from(queryVector(NEURON, 1, 1)), [-1, 1]);
  assert.deepEqual(Array.from(keyVector(NEURON, 1, 2)), [1, 1]);
});

test("a row by hand: q·k, scaled, softmax", () => {
  const row = scoreRow(NEURON, 0, 0);
  assert.deepEqual(Array.from(row.dot), [1, 2, 3]);
  assert.deepEqual(Array.from(row.scaled), [0.5, 1, 1.5]);
  const sum = Math.exp(0.5) + Math.exp(1) + Math.exp(1.5);
  close(assert, row.weight, [0.5, 1, 1.5].map((score) => Math.exp(score) / sum), 1e-12);
  assert.deepEqual(scoreSteps(NEURON, false), ["dot", "scaled", "score", "weight"]);
});

test("bias, soft-cap and mask are steps of their own, and add up", () => {
  const neuron = { ...NEURON, bias: Float32Array.from([0.5, -1, 0, 0, 0, 2]), biasRows: 1, softcap: 1.5, mask: Uint8Array.from([1, 1, 0, 1, 1, 1]) };
  assert.deepEqual(scoreSteps(neuron, false), ["dot", "scaled", "bias", "capped", "visible", "score", "weight"]);
  const row = scoreRow(neuron, 0, 0);
  for (let key = 0; key < 3; key++) {
    assert.equal(row.scaled[key], 0.5 * row.dot[key]);
    assert.ok(Math.abs(row.score[key] - 1.5 * Math.tanh((row.scaled[key] + row.bias[key]) / 1.5)) < 1e-12);
  }
  assert.equal(row.weight[2], 0);
  assert.deepEqual(Array.from(row.visible), [1, 1, 0]);
  assert.ok(Math.abs(row.weight[0] + row.weight[1] - 1) < 1e-12);
  assert.equal(stepText("visible", row, 2), "hidden");
  assert.equal(stepText("score", row, 2), "–");
  assert.equal(stepText("weight", row, 2), "–");
  // The bias of one head serves both; the second query has its own.
  assert.equal(scoreRow(neuron, 1, 1).bias[2], 2);
});

test("a bias of each head's own", () => {
  const bias = Float32Array.from({ length: 12 }, (_, i) => i);
  assert.deepEqual(Array.from(scoreRow({ ...NEURON, bias, biasRows: 2 }, 1, 1).bias), [9, 10, 11]);
});

test("without scaling there is no such step, and causal rows see no later key", () => {
  const neuron = { ...NEURON, scaling: null, queries: 3, q: new Float32Array(12) };
  assert.deepEqual(scoreSteps(neuron, true), ["dot", "visible", "score", "weight"]);
  close(assert, scoreRow(neuron, 0, 1, { causal: true }).weight, [0.5, 0.5, 0], 1e-12);
});

test("a row that sees nothing has no weight", () => {
  const row = scoreRow({ ...NEURON, mask: new Uint8Array(6) }, 0, 0);
  assert.deepEqual(Array.from(row.weight), [0, 0, 0]);
});

for (const name of ["pair", "three-kinds"]) {
  test(`queries and keys of ${name} give the weights of its maps`, async () => {
    const { payload } = golden(name);
    const source = embeddedSource(payload);
    let seen = 0;
    for (const [kindIndex, kind] of payload.kinds.entries()) {
      for (let layer = 0; layer < kind.layers.length; layer++) {
        const neuron = await source.neuron(kindIndex, layer);
        if (!neuron) continue;
        const { heads, queries, keys, values } = await source.layer(kindIndex, layer);
        for (let head = 0; head < heads; head++) {
          for (let query = 0; query < queries; query++) {
            const { weight } = scoreRow(neuron, head, query);
            close(assert, weight, values.subarray((head * queries + query) * keys, (head * queries + query + 1) * keys), 0.005);
            seen++;
          }
        }
      }
    }
    assert.ok(seen > 0);
  });
}

test("signed numbers", () => {
  assert.deepEqual([1.234, -0.5, -0.001, 12.34, -123.4, 0].map(signed), ["1.23", "−0.50", "0.00", "12.3", "−123", "0.00"]);
  assert.equal(signed(-Infinity), "−∞");
});
