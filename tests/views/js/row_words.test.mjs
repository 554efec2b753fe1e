import assert from "node:assert/strict";
import { test } from "node:test";
import { rowOf, wordsOf } from "../../../src/headscope/views/static/atlas/atlas_words.js";

const tokens = (...names) => names.map((name) => [name]);

test("pieces that a run says go on stand with the one before, as do WordPiece's by their mark", () => {
  assert.deepEqual(wordsOf(tokens("he", "w", "ished", "."), [false, false, true, true]), [[0], [1, 2, 3]]);
  assert.deepEqual(wordsOf(tokens("he", "w", "##ish", "##ed", ".")), [[0], [1, 2, 3], [4]]);
});

test("the first piece begins a word, whatever it is", () => {
  assert.deepEqual(wordsOf(tokens("##ed", "it"), [true, false]), [[0], [1]]);
  assert.deepEqual(wordsOf([]), []);
});

test("signs that look like the mark are text", () => {
  assert.deepEqual(wordsOf(tokens("a", "##", "###")), [[0], [1], [2]]);
});

test("a row's numbers name the page's words; those below zero go on", () => {
  const words = tokens("he", "w", "ished");
  assert.deepEqual(rowOf(words, [0, 1, ~2, ~0]), { tokens: tokens("he", "w", "ished", "he"), joins: [false, false, true, true] });
});
