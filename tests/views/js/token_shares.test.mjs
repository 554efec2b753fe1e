import assert from "node:assert/strict";
import { test } from "node:test";
import { sharesOf, strongestOf, uniformShare } from "../../../src/headscope/views/static/report/token_shares.js";
import { close } from "./support.mjs";

test("a token's share is the mean over all tokens, in a decoder over those that can see it", () => {
  const both = [[0.5, 0.5, 0], [0.1, 0.6, 0.3], [0.9, 0, 0.1]];
  close(assert, sharesOf(both, false), [0.5, 1.1 / 3, 0.4 / 3]);
  const causal = [[1, 0, 0], [0.3, 0.7, 0], [0.2, 0.4, 0.4]];
  close(assert, sharesOf(causal, true), [0.5, 0.55, 0.4]);
});

test("across attention has more keys than queries, or fewer", () => {
  close(assert, sharesOf([[0.2, 0.3, 0.5], [0.4, 0.6, 0]], false), [0.3, 0.45, 0.25]);
});

test("uniform attention's share is that of rows that spread evenly", () => {
  const uniform = [1, 2, 3, 4].map((seen) => [0, 1, 2, 3].map((key) => (key < seen ? 1 / seen : 0)));
  close(assert, [0, 1, 2, 3].map((key) => uniformShare(4, key, true)), sharesOf(uniform, true));
  assert.equal(uniformShare(4, 2, false), 0.25);
});

test("the strongest head is found among those that have a map", () => {
  const shares = [[0.1, 0.2], null, [0.3, 0.1]];
  assert.equal(strongestOf(shares, 0), 2);
  assert.equal(strongestOf(shares, 1), 0);
  assert.equal(strongestOf([null, null], 0), -1);
});
