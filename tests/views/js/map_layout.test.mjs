import assert from "node:assert/strict";
import { test } from "node:test";
import { layOutMap, placeNames, toward } from "../../../src/headscope/views/static/atlas/map_layout.js";

const BOX = { width: 400, least: 100, most: 300, mark: 16 };

test("one scale for both ways, up is up, and all lie inside", () => {
  const { places, height } = layOutMap([0, 1, 0, null], [0, 0, 0.5, null], BOX);
  const [a, b, c, none] = places;
  assert.equal(none, null);
  assert.ok(Math.abs((b[0] - a[0]) / (a[1] - c[1]) - 2) < 1e-9);
  assert.ok(c[1] < a[1]);
  for (const [x, y] of [a, b, c]) assert.ok(x >= 8 && x <= 392 && y >= 8 && y <= height - 8);
});

test("one head, or heads in one place, are in the middle", () => {
  for (const count of [1, 3]) {
    const { places, height } = layOutMap(Array(count).fill(0.3), Array(count).fill(-1), BOX);
    for (const place of places) assert.deepEqual(place.map(Math.round), [200, Math.round(height / 2)]);
  }
  assert.equal(layOutMap([], [], BOX).places.length, 0);
});

test("names cover neither marks nor one another", () => {
  const places = [[100, 50], [118, 50], [100, 68], [390, 90], null];
  const sizes = { mark: 16, letter: 6, line: 14, width: 400, height: 120 };
  const put = placeNames(["left one", "right", "below", "edge", "none"], places, sizes);
  assert.equal(put[0].anchor, "end");
  assert.equal(put[1].anchor, "start");
  assert.equal(put[3].anchor, "end");
  assert.equal(put[4], null);
  assert.equal(placeNames(["x".repeat(90)], [[200, 60]], sizes)[0], null);
});

test("where there is room for one name only, the first in order has it", () => {
  const places = [[200, 60], [200, 60]];
  const sizes = { mark: 16, letter: 6, line: 14, width: 130 + 200, height: 76 };
  const long = ["x".repeat(18), "y".repeat(18)];
  const [one, other] = [placeNames(long, places, sizes, [0, 1]), placeNames(long, places, sizes, [1, 0])];
  assert.deepEqual({ ...one[0], name: "" }, { ...other[1], name: "" });
  assert.notDeepEqual({ ...one[0], name: "" }, { ...other[0] ?? {}, name: "" });
});

test("an arrow key goes to the nearest mark that way", () => {
  const places = [[0, 0], [10, 0], [30, 1], [5, 20], null, [-9, -2]];
  assert.equal(toward(places, 0, "ArrowRight"), 1);
  assert.equal(toward(places, 1, "ArrowRight"), 2);
  assert.equal(toward(places, 0, "ArrowDown"), 3);
  assert.equal(toward(places, 0, "ArrowLeft"), 5);
  assert.equal(toward(places, 0, "ArrowUp"), null);
});
