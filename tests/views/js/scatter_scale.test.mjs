import assert from "node:assert/strict";
import { test } from "node:test";
import { scaleOf } from "../../../src/headscope/views/static/report/scatter_scale.js";

test("shares have the whole axis, from nothing to all", () => {
  const { log, ticks, place } = scaleOf([0.2, 0.3, null], true);
  assert.equal(log, false);
  assert.deepEqual(ticks, [0, 0.2, 0.4, 0.6, 0.8, 1]);
  assert.equal(place(0), 0);
  assert.ok(place(1) < 1 && place(1) > 0.95);
});

test("what spans more than a factor of 50 has a logarithmic axis, equal ratios equal steps", () => {
  const { log, ticks, place } = scaleOf([0.1, 1, 10], false);
  assert.equal(log, true);
  assert.deepEqual(ticks, [0.1, 0.3, 1, 3, 10]);
  assert.ok(Math.abs(place(1) - place(0.1) - (place(10) - place(1))) < 1e-12);
  assert.ok(place(0.1) > 0 && place(10) < 1);
});

test("a value of 0 has a place, so that its axis is not logarithmic", () => {
  const { log, ticks, place } = scaleOf([0, 100], false);
  assert.equal(log, false);
  assert.deepEqual(ticks, [0, 20, 40, 60, 80, 100]);
  assert.equal(place(0), 0);
});

test("one value, and none, have an axis", () => {
  for (const values of [[3], [0], [null], []]) {
    const { ticks, place } = scaleOf(values, false);
    assert.ok(ticks.length > 1, String(values));
    assert.ok(place(values[0] || 0) >= 0 && place(values[0] || 0) <= 1);
  }
});
