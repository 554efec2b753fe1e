import assert from "node:assert/strict";
import { test } from "node:test";
import { tellAttention, tellHeads, toldToken } from "../../../src/headscope/views/static/views/telling.js";
import { cutToken, fitted, isolatedToken, visibleToken } from "../../../src/headscope/views/static/core/token_text.js";
import { heatScale, heatValues, shadeShare, tellHeat } from "../../../src/headscope/views/static/views/heatmap/heat_values.js";
import { headOrder, headStatistics, pooledMap } from "../../../src/headscope/views/static/views/head_stats.js";
import { close, weightsFrom } from "./support.mjs";

test("who attends to what, most first", () => {
  const tokens = ["[CLS]", "the", "committee"];
  assert.equal(tellAttention("query", "approved", [0.09, 0.12, 0.43], tokens), "“approved” attends 43% to “committee”, 12% to “the”, 9.0% to “[CLS]”");
  assert.equal(tellAttention("key", "committee", [0.004, 0, 0.43], tokens), "“committee” receives 43% from “committee”");
  assert.equal(tellAttention("query", "a", [0.001, 0, 0], tokens), "“a” attends less than 0.5% to any token");
});

test("heads in words", () => {
  assert.equal(tellHeads([3], 12), "head 3");
  assert.equal(tellHeads([1, 2, 3, 7, 9, 10], 12), "heads 1–3, 7, 9, 10");
  assert.equal(tellHeads([1, 2], 2, { mean: true }), "the mean of all 2 heads");
  assert.equal(tellHeads([], 2), "no head");
});

test("what cannot be seen is named", () => {
  assert.equal(visibleToken("a\u200bb"), "a⟨U+200B⟩b");
  assert.equal(visibleToken("\u202eabc"), "⟨U+202E⟩abc");
  assert.equal(visibleToken(""), "⟨empty⟩");
  assert.equal(visibleToken("\n"), "⏎");
  assert.equal(visibleToken("  "), "␣␣");
  assert.equal(visibleToken("\ud800"), "⟨U+D800⟩");
  assert.equal(visibleToken("\u0000"), "⟨U+0000⟩");
  assert.equal(visibleToken("👩‍👩‍👧"), "👩‍👩‍👧");
  assert.equal(visibleToken(`e${"\u0301".repeat(40)}`), `e${"\u0301".repeat(4)}`);
  assert.equal(visibleToken("</script>"), "</script>");
});

test("long tokens are cut between letters", () => {
  assert.equal(cutToken("abcdef", 6), "abcdef");
  assert.equal(cutToken("abcdefg", 6), "abcde…");
  assert.equal(cutToken("👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧", 2), "👩‍👩‍👧…");
  assert.equal(cutToken("x".repeat(5000), 24).length, 24);
  assert.equal(fitted("abcdef", 4, (text) => text.length), "abc…");
  assert.equal(fitted("abc", 4, (text) => text.length), "abc");
  assert.equal(toldToken("x".repeat(100)), `“${"x".repeat(23)}…”`);
});

test("a token that runs right to left is kept to itself", () => {
  assert.equal(isolatedToken("שלום"), "\u2068שלום\u2069");
  assert.equal(isolatedToken("مرحبا"), "\u2068مرحبا\u2069");
  assert.equal(isolatedToken("hello"), "hello");
});

// Queries down: a looks at b, b at a and c, c at itself.
const FRAME = {
  weights: weightsFrom([[[0, 1, 0], [0.5, 0, 0.5], [0, 0.25, 0.75]]]),
  heads: [0],
  shown: { query: Int32Array.from([0, 1, 2]), key: Int32Array.from([0, 1, 2]) },
  kind: { causal: false },
};

test("the heat map's numbers, from and to one token and all", () => {
  close(assert, heatValues(FRAME, "received", 1), [0.5, 0, 0.5]);
  close(assert, heatValues(FRAME, "given", 1), [1, 0, 0.25]);
  close(assert, heatValues(FRAME, "received", -1), [0.5 / 3, 1.25 / 3, 1.25 / 3]);
  close(assert, heatValues(FRAME, "given", -1), [1, 0.5, 0.75]);
});

test("under a causal mask a key's mean is over the queries that can see it", () => {
  const causal = { ...FRAME, weights: weightsFrom([[[1, 0, 0], [0.5, 0.5, 0], [0.2, 0.2, 0.6]]]), kind: { causal: true } };
  close(assert, heatValues(causal, "received", -1), [1.7 / 3, 0.35, 0.6]);
});

test("hidden tokens neither receive nor count", () => {
  const some = { ...FRAME, shown: { query: Int32Array.from([1, 2]), key: Int32Array.from([2]) } };
  close(assert, heatValues(some, "received", -1), [0.625]);
  close(assert, heatValues(some, "given", 0), [0.5, 0.75]);
});

test("tokens that attention rests on do not make the heat map's scale", () => {
  assert.deepEqual(heatScale([0.6, 0.1, 0.2, 0.15], new Set([0, 3])), { least: 0.1, most: 0.2, off: [0] });
  assert.deepEqual(heatScale([0.1, 0.2], new Set([0])), { least: 0, most: 0.2, off: [] });
  assert.deepEqual(heatScale([0.6, 0], new Set([0])), { least: 0, most: 0.6, off: [] });
  assert.deepEqual(heatScale([], new Set()), { least: 0, most: 0, off: [] });
  const scale = { least: 0.1, most: 0.3 };
  assert.deepEqual([0.1, 0.2, 0.3, 0.9].map((value) => Math.round(100 * shadeShare(value, scale))), [0, 50, 100, 100]);
  assert.equal(shadeShare(0, { least: 0, most: 0 }), 0);
});

test("the shade in words", () => {
  assert.equal(tellHeat("received", ""), "Shade: mean attention that each token receives, over the tokens that see it");
  assert.equal(tellHeat("received", "cat", "word"), "Shade: how much of the attention of cat each word receives (a split word: the sum to its tokens, the mean from them)");
  assert.match(tellHeat("given", "", "word"), /largest weight that each word gives to any word \(a split word: the sum/);
  assert.equal(tellHeat("given", "cat"), "Shade: how much of its attention each token gives to cat");
});

test("statistics of a head, by hand", () => {
  const weights = weightsFrom([[[1, 0, 0], [1, 0, 0], [0, 1, 0]], [[0.5, 0.5, 0], [0, 0, 1], [0, 0.5, 0.5]]]);
  const [previous, next] = [headStatistics(weights, 0, true), headStatistics(weights, 1, true)];
  close(assert, [previous.previous, previous.next, previous.current, previous.entropy, previous.first], [2 / 3, 0, 1 / 3, 0, 2 / 3]);
  close(assert, [next.previous, next.next, next.current, next.entropy], [0.5 / 3, 1.5 / 3, 1 / 3, (2 * Math.log(2)) / 3]);
  assert.equal(headStatistics(weights, 0, false).previous, null);
  const heads = (...statistics) => statistics.map((one) => ({ statistics: one, role: null }));
  assert.deepEqual(headOrder(heads(previous, next), "entropy"), [1, 0]);
  assert.deepEqual(headOrder(heads(previous, next), ""), [0, 1]);
  assert.deepEqual(headOrder(heads({ next: null }, { next: 0.1 }, { next: 0.1 }), "next"), [1, 2, 0]);
  assert.deepEqual(headOrder([{ role: "sep" }, { role: null }, { role: "cls" }, { role: "cls" }], "role"), [2, 3, 0, 1]);
});

test("a small picture keeps the largest weight of each cell", () => {
  const weights = weightsFrom([[[0.1, 0.2, 0.3, 0.4], [0.9, 0, 0, 0.1]]]);
  const pooled = pooledMap(weights, 0, 2);
  assert.deepEqual([pooled.height, pooled.width], [2, 2]);
  close(assert, pooled.cells, [0.2, 0.4, 0.9, 0.1]);
  close(assert, pooledMap(weights, 0, 2, [1], [3, 0]).cells, [0.1, 0.9]);
});
