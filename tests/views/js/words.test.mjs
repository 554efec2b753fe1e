import assert from "node:assert/strict";
import { test } from "node:test";
import { hasWords, tellUnknown, unitsOf } from "../../../src/headscope/views/static/views/axis.js";
import { shownUnits, sinkNames, sinkUnits } from "../../../src/headscope/views/static/views/filters.js";
import { hasSink, isSquare } from "../../../src/headscope/views/static/views/embedded_source.js";
import { headStatistics } from "../../../src/headscope/views/static/views/head_stats.js";
import { heatValues } from "../../../src/headscope/views/static/views/heatmap/heat_values.js";
import { meanOfHeads, wordWeights } from "../../../src/headscope/views/static/views/word_level.js";
import { axisOf, close, kindOf, randomWeights, weightsFrom } from "./support.mjs";

const AXIS = axisOf(["[CLS]", "play", "##ing", "ball", "[SEP]", "fun", "[SEP]"], {
  words: [null, 0, 0, 1, null, 2, null],
  word_text: ["playing", "ball", "fun"],
  segment_b: 5,
  special: [0, 4, 6],
});

test("units of tokens and of words", () => {
  const tokens = unitsOf(AXIS, "token");
  assert.deepEqual(tokens.labels, AXIS.tokens);
  assert.deepEqual(tokens.joined, [false, false, true, false, false, false, false]);
  const words = unitsOf(AXIS, "word");
  assert.deepEqual(words.labels, ["[CLS]", "playing", "ball", "[SEP]", "fun", "[SEP]"]);
  assert.deepEqual(words.first, [0, 1, 3, 4, 5, 6]);
  assert.deepEqual(Array.from(words.unitOf), [0, 1, 1, 2, 3, 4, 5]);
  assert.deepEqual([...words.special], [0, 3, 5]);
  assert.equal(words.segmentB, 4);
});

test("text that the model does not know is marked, and counted in words", () => {
  const axis = { ...AXIS, unknown: [2, 5] };
  assert.deepEqual(unitsOf(axis, "token").labels, ["[CLS]", "play", "##ing*", "ball", "[SEP]", "fun*", "[SEP]"]);
  assert.deepEqual(unitsOf(axis, "word").labels, ["[CLS]", "playing*", "ball", "[SEP]", "fun*", "[SEP]"]);
  assert.deepEqual([...unitsOf(axis, "word").unknown], [1, 4]);
  const said = "* 2 of 3 words unknown to this model: it reads the same unknown token for each.";
  assert.equal(tellUnknown([kindOf(axis)]), said);
  // A decoder that reads the encoder's text again does not count it again.
  assert.equal(tellUnknown([kindOf(axis), kindOf(axis, { kind: "cross", keys: axis })]), said);
  assert.equal(tellUnknown([kindOf(axisOf(["x", "y"], { unknown: [1] }))]), said.replace("2 of 3 words", "1 of 2 tokens"));
  const noted = { words_note: "some words are the tokenizer's" };
  assert.equal(tellUnknown([kindOf({ ...axis, ...noted })]), `${said} At word level some words are the tokenizer's.`);
  assert.equal(tellUnknown([kindOf(axisOf(["x"], noted))]), "At word level some words are the tokenizer's.");
  assert.equal(tellUnknown([kindOf(AXIS)]), "");
});

test("where attention rests: special tokens, else a decoder's first token", () => {
  const causal = kindOf(axisOf(["Once", "upon"]), { causal: true });
  assert.equal(sinkNames(kindOf(AXIS)), "[CLS], [SEP]");
  assert.equal(sinkNames(causal), "Once");
  assert.equal(sinkNames(kindOf(axisOf(["a", "b"]))), "");
  assert.deepEqual([...sinkUnits(unitsOf(AXIS, "word"), kindOf(AXIS))], [0, 3, 5]);
  assert.deepEqual([...sinkUnits(unitsOf(causal.queries, "token"), causal)], [0]);
});

test("a word's text without word_text is its pieces, continuation marks taken off", () => {
  assert.deepEqual(unitsOf({ ...AXIS, word_text: [] }, "word").labels[1], "playing");
  assert.deepEqual(unitsOf({ ...AXIS, word_text: [], tokens: ["[CLS]", "##", "##s", "a", "b", "c", "d"] }, "word").labels[1], "##s");
});

test("special tokens side by side stay words of their own, and without words there is no word level", () => {
  const axis = axisOf(["<s>", "</s>", "</s>", "a"]);
  assert.equal(hasWords(axis), false);
  assert.equal(unitsOf(axis, "word").count, 4);
  assert.equal(unitsOf({ ...axis, words: [null, null, null, 0], word_text: ["a"] }, "word").count, 4);
});

test("what was generated, by word", () => {
  const axis = axisOf(["a", "b", "##c", "d"], { words: [0, 1, 1, 2], word_text: ["a", "bc", "d"], generated: 3 });
  assert.equal(unitsOf(axis, "word").generated, 2);
  assert.equal(unitsOf({ ...axis, generated: 4 }, "token").generated, null);
});

test("to a split word the sum over its pieces, from it the mean", () => {
  // Queries: a, b1, b2; keys the same. Worked by hand.
  const weights = weightsFrom([[[0.5, 0.25, 0.25], [1, 0, 0], [0.2, 0.3, 0.5]]]);
  const units = Int32Array.from([0, 1, 1]);
  const words = wordWeights(weights, units, units);
  assert.deepEqual([words.queries, words.keys], [2, 2]);
  close(assert, words.values, [0.5, 0.5, 0.6, 0.4]);
});

test("only the side that is split changes: cross attention", () => {
  const weights = weightsFrom([[[0.5, 0.25, 0.25], [1, 0, 0]]]);
  close(assert, wordWeights(weights, [0, 1], [0, 0, 1]).values, [0.75, 0.25, 1, 0]);
  close(assert, wordWeights(weights, [0, 0], [0, 1, 2]).values, [0.75, 0.125, 0.125]);
});

test("rows of words sum to 1", () => {
  const weights = randomWeights(3, 7, 7);
  const { unitOf } = unitsOf(AXIS, "word");
  const words = wordWeights(weights, unitOf, unitOf);
  for (let row = 0; row < words.heads * words.queries; row++) {
    const sum = words.values.subarray(row * words.keys, (row + 1) * words.keys).reduce((a, b) => a + b, 0);
    assert.ok(Math.abs(sum - 1) < 1e-6);
  }
  assert.equal(wordWeights(weights, [0, 1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 4, 5, 6]), weights);
});

test("the mean of some heads", () => {
  const weights = weightsFrom([[[1, 0]], [[0, 1]], [[0.5, 0.5]]]);
  close(assert, meanOfHeads(weights, [0, 2]).values, [0.75, 0.25]);
  close(assert, meanOfHeads(weights, []).values, [0, 0]);
});

test("sentence pairs and special tokens", () => {
  const units = unitsOf(AXIS, "token");
  const shown = (side, pairs, special = true) => Array.from(shownUnits(units, side, { pairs, special }));
  assert.deepEqual(shown("query", "all"), [0, 1, 2, 3, 4, 5, 6]);
  assert.deepEqual(shown("query", "ab"), [0, 1, 2, 3, 4]);
  assert.deepEqual(shown("key", "ab"), [5, 6]);
  assert.deepEqual(shown("query", "ba", false), [5]);
  assert.deepEqual(shown("key", "ba", false), [1, 2, 3]);
  assert.deepEqual(shown("key", "bb"), [5, 6]);
  const words = unitsOf(AXIS, "word");
  assert.deepEqual(Array.from(shownUnits(words, "key", { pairs: "ab" })), [4, 5]);
});

test("without a second sentence the filter shows all", () => {
  const units = unitsOf(axisOf(["a", "b"]), "token");
  assert.deepEqual(Array.from(shownUnits(units, "query", { pairs: "ab" })), [0, 1]);
});

test("a learned sink stands behind the keys, is no word and no text of its own, and rests what is left", () => {
  const text = axisOf(["Once", "up", "##on", "a"], { words: [0, 1, 1, 2], word_text: ["Once", "upon", "a"], unknown: [3] });
  const keys = { ...text, tokens: [...text.tokens, "[sink]"], words: [...text.words, null], special: [4], sink: 4 };
  const kind = kindOf(text, { keys, causal: true });
  assert.ok(isSquare(kind) && hasSink(kind));
  assert.ok(!isSquare(kindOf(text, { keys: axisOf(["x"]) })) && !hasSink(kindOf(text)));
  const units = unitsOf(keys, "word");
  assert.deepEqual([units.labels.at(-1), units.sink, unitsOf(text, "word").sink], ["[sink]", 3, null]);
  assert.deepEqual([...sinkUnits(units, kind)], [0, 3]);
  assert.deepEqual([...sinkUnits({ ...units, special: new Set([1, 3]) }, kind)], [1, 3]);
  assert.equal(sinkNames(kind), "Once, [sink]");
  assert.equal(tellUnknown([kind]), tellUnknown([kindOf(text)]));
  // Of two tokens: the first gives 3/4 to the sink, the second a half; the mean over all rows, the mask notwithstanding.
  const weights = weightsFrom([[[0.25, 0, 0.75], [0.25, 0.25, 0.5]]]);
  const two = unitsOf(axisOf(["a", "b", "[sink]"], { special: [2], sink: 2 }), "token");
  const frame = { weights, heads: [0], kind, units: { key: two }, shown: { query: Int32Array.of(0, 1), key: Int32Array.of(0, 1, 2) } };
  assert.deepEqual([...heatValues(frame, "received", -1)], [0.25, 0.25, 0.625]);
  assert.equal(headStatistics(weights, 0, true).next, 0);
  assert.equal(headStatistics(weights, 0, true).previous, 0.125);
});
