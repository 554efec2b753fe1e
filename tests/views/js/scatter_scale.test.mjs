import assert from "node:assert/strict";
import { test } from "node:test";
import { firstAxes, scaleOf } from "../../../src/headscope/views/static/report/scatter_scale.js";

const said = (values, share) => {
  const { ticks, text } = scaleOf(values, share);
  return ticks.map(text).join(" ");
};

test("an axis of shares ends at the first round share that holds them all", () => {
  assert.equal(said([0.01, 0.15, null], true), "0% 5% 10% 15%");
  assert.equal(said([0.02, 0.31], true), "0% 10% 20% 30% 40%");
  assert.equal(said([0, 1], true), "0% 20% 40% 60% 80% 100%");
  assert.equal(said([0.001, 0.004], true), "0.0% 0.1% 0.2% 0.3% 0.4%");
  const { log, place } = scaleOf([0.0001, 0.15], true);
  assert.equal(log, false);
  assert.equal(place(0), 0);
  assert.ok(place(0.15) < 1 && place(0.15) > 0.95);
});

test("an axis begins at 0, but where most of it would be empty", () => {
  assert.equal(said([1.5, 2.9], false), "0 0.5 1 1.5 2 2.5 3");
  assert.equal(said([2.1, 2.9], false), "2 2.2 2.4 2.6 2.8 3");
  assert.equal(said([0.9, 0.97], true), "86% 88% 90% 92% 94% 96% 98%");
  const { place } = scaleOf([2.1, 2.9], false);
  assert.ok(place(2) > 0 && place(2) < 0.05);
});

test("what is all but equal stands close together, not from end to end", () => {
  assert.equal(said([0.9999, 1], true), "90% 92% 94% 96% 98% 100%");
  const { place } = scaleOf([0.9999, 1], true);
  assert.ok(place(1) - place(0.9999) < 0.002);
});

test("values below 0 have a place, with 0 among the ticks", () => {
  const { ticks, place } = scaleOf([-1, 2], false);
  assert.deepEqual(ticks, [-1, -0.5, 0, 0.5, 1, 1.5, 2]);
  assert.ok(place(-1) > 0 && place(2) < 1);
});

test("every axis holds its values, between its first and its last tick, with few ticks at equal steps", () => {
  for (let seed = 1; seed <= 400; seed++) {
    const [a, b] = [Math.abs(Math.sin(seed)), Math.abs(Math.sin(7 * seed + 1))];
    const values = [a, b].map((value) => (seed % 2 ? value : value * 10 ** (seed % 9)));
    const { log, ticks, text, place } = scaleOf(values, seed % 2 === 1);
    if (log) continue;
    assert.ok(ticks.length >= 3 && ticks.length <= 8, String(values));
    assert.equal(new Set(ticks.map(text)).size, ticks.length, ticks.map(text).join(" "));
    assert.ok(ticks[0] <= Math.min(...values) + 1e-9 && ticks.at(-1) >= Math.max(...values) - 1e-9, String(values));
    for (const value of values) assert.ok(place(value) >= 0 && place(value) <= 1);
  }
});

test("the axes have at first what is wanted, where some head has both", () => {
  const columns = { previous: [null, null], next: [0.1, 0.2], wanted: [0.3, null], other: [null, 0.5], wide: [1, 2] };
  const first = (x, y) => firstAxes({ x, y }, Object.keys(columns), (name) => columns[name]);
  assert.deepEqual(first(["wanted"], ["wide"]), { x: "wanted", y: "wide" });
  assert.deepEqual(first(["absent"], ["absent", "wide"]), { x: "next", y: "wide" });
  assert.deepEqual(first(["wanted"], ["other"]), { x: "wanted", y: "next" });
  assert.deepEqual(first(["previous"], ["previous"]), { x: "next", y: "wanted" });
  assert.deepEqual(first(["wide"], ["wide"]), { x: "wide", y: "next" });
});

test("where no head has two measures the axes have the first", () => {
  assert.deepEqual(firstAxes({ x: [], y: [] }, ["one", "two"], () => [null]), { x: "one", y: "two" });
  assert.deepEqual(firstAxes({ x: [], y: [] }, ["one"], () => [0.5]), { x: "one", y: "one" });
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
