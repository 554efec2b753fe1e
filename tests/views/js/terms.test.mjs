// Where terms of the glossary are found in a text.
import assert from "node:assert/strict";
import { test } from "node:test";
import { termPattern } from "../../../src/headscope/views/static/report/terms.js";

const found = (names, text) => [...text.matchAll(termPattern(names))].map(([match]) => match);

test("a term is found as it may be written, as a whole word", () => {
  assert.deepEqual(found(["Held out", "Sink"], "held-out accuracy; sinks, a Sink, sinking, de-sink"), ["held-out", "sinks", "Sink"]);
});

test("of two terms the longer one is found", () => {
  assert.deepEqual(found(["Sink", "Learned sink"], "a learned sink"), ["learned sink"]);
});

test("what a term is written with means nothing else", () => {
  assert.deepEqual(found(["95% interval", "a.b (c)"], "95% intervals of axb (c) and a.b (c)"), ["95% intervals", "a.b (c)"]);
});
