import assert from "node:assert/strict";
import { test } from "node:test";
import { bucketOf, BUCKETS, bucketWeight, edgesOf, lineOpacity, meanRow, topPlaces, weightsAt } from "../../../src/headscope/views/static/views/head/edges.js";
import { columnWidths, rowMiddle, rowStep, slotOffset, stripCell, TILE, tileCount, tileSpan } from "../../../src/headscope/views/static/views/head/layout.js";
import { close, randomWeights, weightsFrom } from "./support.mjs";

const all = (count) => Int32Array.from({ length: count }, (_, i) => i);

test("every weight of the threshold or more is a line, from its query to its key", () => {
  const weights = weightsFrom([[[0.9, 0.1, 0], [0.009, 0.01, 0.981]], [[0, 0, 1], [1, 0, 0]]]);
  const edges = edgesOf(weights, [0, 1], all(2), all(3), 0.01);
  const told = Array.from({ length: edges.count }, (_, i) => [edges.head[i], edges.query[i], edges.key[i], Number(edges.weight[i].toFixed(3))]);
  assert.deepEqual(told.sort(), [[0, 0, 0, 0.9], [0, 0, 1, 0.1], [0, 1, 1, 0.01], [0, 1, 2, 0.981], [1, 0, 2, 1], [1, 1, 0, 1]].sort());
});

test("lines lie by strength, the strongest last, and by head within a strength", () => {
  const weights = randomWeights(3, 20, 20);
  const edges = edgesOf(weights, [0, 1, 2], all(20), all(20), 0.01);
  let count = 0;
  for (const weight of weights.values) if (weight >= 0.01) count++;
  assert.equal(edges.count, count);
  for (let group = 0; group < edges.starts.length - 1; group++) {
    for (let i = edges.starts[group]; i < edges.starts[group + 1]; i++) {
      assert.equal(edges.head[i], group % 3);
      assert.equal(bucketOf(edges.weight[i]), Math.floor(group / 3));
    }
  }
  assert.equal(edges.starts.at(-1), count);
});

test("hidden units have no lines, and places count those shown", () => {
  const weights = weightsFrom([[[0.5, 0.5, 0], [0, 0.5, 0.5], [0.2, 0.2, 0.6]]]);
  const edges = edgesOf(weights, [0], Int32Array.from([1, 2]), Int32Array.from([2]), 0.01);
  assert.deepEqual([...edges.query], [0, 1]);
  assert.deepEqual([...edges.key], [0, 0]);
  close(assert, edges.weight, [0.5, 0.6]);
  assert.equal(edgesOf(weights, [], all(3), all(3), 0.01).count, 0);
});

test("weight is opacity, by buckets that keep order", () => {
  assert.equal(bucketOf(1), BUCKETS - 1);
  assert.equal(bucketOf(0), 0);
  for (let bucket = 0; bucket < BUCKETS; bucket++) assert.equal(bucketOf(bucketWeight(bucket)), bucket);
  assert.ok(lineOpacity(0.01) > 0.05);
  assert.equal(lineOpacity(1), 1);
});

test("weak lines of heads that are shown together share the ink of one, strong lines keep theirs", () => {
  for (const weight of [0.01, 0.02]) {
    const [one, twelve] = [lineOpacity(weight), lineOpacity(weight, { heads: 12 })];
    assert.ok(Math.abs(one / twelve - 12) < 0.6, `${one / twelve}`);
  }
  assert.equal(lineOpacity(1, { heads: 12 }), 1);
  for (let weight = 0; weight < 1; weight += 0.05) assert.ok(lineOpacity(weight, { heads: 12 }) < lineOpacity(weight + 0.05, { heads: 12 }));
});

test("the faintest lines of a long text have less ink each, the strongest as much", () => {
  assert.ok(lineOpacity(0.01, { rows: 128 }) < lineOpacity(0.01, { rows: 16 }) / 2);
  assert.equal(lineOpacity(0.3, { rows: 128, strongest: 0.3 }), 1);
});

test("lines to and from the tokens that heads rest on lie before the others, and are not the strongest", () => {
  const weights = weightsFrom([[[0.9, 0.1, 0], [0.7, 0, 0.3], [0.6, 0.4, 0]]]);
  const sinks = { query: new Set([0]), key: new Set([0]) };
  const edges = edgesOf(weights, [0], all(3), all(3), 0.01, sinks);
  const pairs = Array.from({ length: edges.count }, (_, i) => `${edges.query[i]}-${edges.key[i]}`);
  const faint = edges.starts[BUCKETS];
  assert.deepEqual(pairs.slice(0, faint).sort(), ["0-0", "0-1", "1-0", "2-0"]);
  assert.deepEqual(pairs.slice(faint), ["1-2", "2-1"]);
  close(assert, [edges.strongest], [0.4]);
  assert.equal(edges.tiers, 2);
  const plain = edgesOf(weights, [0], all(3), all(3), 0.01);
  close(assert, [plain.strongest], [0.9]);
  assert.equal(plain.tiers, 1);
});

test("one token's weights: a row of a query, a column of a key", () => {
  const weights = weightsFrom([[[0.7, 0.3], [0.4, 0.6]], [[0.1, 0.9], [0.2, 0.8]]]);
  close(assert, weightsAt(weights, [0, 1], "query", 0, all(2)), [0.7, 0.3, 0.1, 0.9]);
  close(assert, weightsAt(weights, [0, 1], "key", 0, all(2)), [0.7, 0.4, 0.1, 0.2]);
  close(assert, weightsAt(weights, [1], "key", 1, Int32Array.from([1])), [0.8]);
  close(assert, meanRow(Float32Array.from([0.7, 0.3, 0.1, 0.9]), 2), [0.4, 0.6]);
  assert.equal(meanRow(new Float32Array(0), 0).length, 0);
});

test("the strongest places, leftmost where equal", () => {
  assert.deepEqual(topPlaces([0.2, 0.5, 0.2, 0.001, 0.099], 3, 0.01), [1, 0, 2]);
  assert.deepEqual(topPlaces([0.001], 3, 0.01), []);
});

test("rows are tighter the more there are", () => {
  assert.deepEqual([rowStep(10), rowStep(40), rowStep(512)], [24, 22, 20]);
  assert.equal(rowMiddle(2, 20), 50);
});

test("columns fit their width, and leave room for lines", () => {
  for (const total of [300, 328, 700, 1400]) {
    for (const longest of [20, 90, 400]) {
      const { share, label, lines, width } = columnWidths(total, longest);
      assert.equal(width, total, "the lines have the width that there is");
      assert.ok(width <= total, `${width} in ${total}`);
      assert.ok(lines >= 80, `${lines} of ${total}`);
      assert.ok(label <= Math.max(48, longest) && share > 0);
    }
  }
});

test("heads on one pair lie side by side inside the row", () => {
  assert.equal(slotOffset(0, 1, 20), 0);
  const offsets = [...Array(12).keys()].map((head) => slotOffset(head, 12, 20));
  assert.ok(offsets.every((offset, i) => i === 0 || offset > offsets[i - 1]));
  assert.equal(offsets[0], -offsets[11]);
  assert.ok(offsets[11] <= 10);
});

test("a strip of heads leaves two thirds of the room to the lines", () => {
  assert.equal(stripCell(1, 500), 0);
  assert.equal(stripCell(12, 500), 4);
  assert.equal(stripCell(12, 120), 0);
  assert.ok(stripCell(64, 500) * 64 + 6 <= 500 / 3);
});

test("tiles cover a column once", () => {
  const height = 2 * TILE + 100;
  assert.equal(tileCount(height), 3);
  assert.deepEqual(tileSpan(2, height), { top: 2 * TILE, height: 100 });
  assert.equal(tileCount(TILE), 1);
});
