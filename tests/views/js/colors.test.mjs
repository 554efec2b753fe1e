import assert from "node:assert/strict";
import { test } from "node:test";
import { blend, contrast, HEAD_COLORS, headColor, headDash, shadeOf, shadeTable } from "../../../src/headscope/views/static/core/colors.js";
import { leastDistance } from "./color_vision.mjs";

const THEMES = {
  light: { ink: "#1c1e21", paper: "#fbfbf9", card: "#ffffff", shade: "#0072b3" },
  dark: { ink: "#e8e6e1", paper: "#15171a", card: "#1d2024", shade: "#62b4ea" },
};

for (const scheme of ["light", "dark"]) {
  test(`heads are told apart with any color vision, on ${scheme}`, () => {
    const { distance, pair, vision } = leastDistance(HEAD_COLORS[scheme]);
    assert.ok(distance >= 20, `${pair} are ${distance.toFixed(1)} apart with ${vision} vision`);
    for (const color of HEAD_COLORS[scheme]) assert.ok(contrast(color, THEMES[scheme].paper) >= 3, color);
  });

  test(`text can be read on every shade, on ${scheme}`, () => {
    for (let share = 0; share <= 1.001; share += 0.01) {
      const { fill, ink } = shadeOf(share, THEMES[scheme]);
      assert.ok(contrast(fill, ink) >= 4.5, `${fill} under ${ink}: ${contrast(fill, ink).toFixed(2)}`);
    }
  });
}

test("no two of the first 32 heads look the same", () => {
  const looks = [...Array(32).keys()].map((head) => `${headColor(head, "light")} ${headDash(head)}`);
  assert.equal(new Set(looks).size, 32);
  assert.equal(headColor(12, "dark"), headColor(0, "dark"));
  for (let head = 0; head < 12; head++) assert.deepEqual(headDash(head), []);
});

test("a shade goes from the card to the color", () => {
  assert.equal(shadeOf(0, THEMES.light).fill, "#ffffff");
  assert.equal(shadeOf(1, THEMES.light).fill, "#0072b3");
  assert.equal(blend("#000000", "#ffffff", 0.5), "#808080");
  const table = shadeTable(THEMES.light);
  assert.deepEqual(Array.from(table.slice(0, 3)), [255, 255, 255]);
  assert.deepEqual(Array.from(table.slice(-3)), [0, 114, 179]);
});

test("contrast as WCAG has it", () => {
  assert.equal(contrast("#000000", "#ffffff"), 21);
  assert.ok(Math.abs(contrast("#777777", "#ffffff") - 4.48) < 0.01);
});
