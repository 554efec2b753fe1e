import assert from "node:assert/strict";
import { test } from "node:test";
import { SvgSurface, xmlText } from "../../../src/headscope/views/static/svg_surface.js";
import { matrixPicture, matrixSizes } from "../../../src/headscope/views/static/matrix_scene.js";
import { headScene } from "../../../src/headscope/views/static/head_scene.js";
import { edgesOf } from "../../../src/headscope/views/static/edges.js";
import { columnWidths } from "../../../src/headscope/views/static/layout.js";
import { weightsFrom } from "./support.mjs";

const measure = (text, size) => text.length * size * 0.5;
const surface = () => new SvgSurface(100, 50, { title: "a & b", measure, toPng: () => "data:image/png;base64,AA==" });
const THEME = { scheme: "light", ink: "#1c1e21", soft: "#59626b", card: "#ffffff", paper: "#fbfbf9", line: "#dfe3e6", shade: "#0072b3" };

test("text in a picture is text", () => {
  assert.equal(xmlText(`</script><script>"'&`), "&lt;/script&gt;&lt;script&gt;&quot;&#39;&amp;");
  assert.equal(xmlText("a\u0000b\ud800c\uffff"), "a\ufffdb\ufffdc\ufffd");
  const drawing = surface();
  drawing.text("<b>", 1, 2, { colour: "#000000" });
  assert.match(drawing.toString(), /<text x="1" y="2" dy="0\.35em" font-size="13" fill="#000000">&lt;b&gt;<\/text>/);
});

test("a cut text keeps the whole as its title", () => {
  const drawing = surface();
  drawing.text("a very long token", 0, 0, { colour: "#000000", size: 10, most: 30, whole: "a very long token" });
  assert.match(drawing.toString(), /<title>a very long token<\/title>a ver…<\/text>/);
});

test("shapes", () => {
  const drawing = surface();
  drawing.lines([0, 1, 2, 3, 4, 5, 6, 7], { colour: "#0072b2", dash: [5, 3], opacity: 0.5, width: 1.2 });
  drawing.bars([1, -0.5], 0, 0, 20, 10, { most: 1, positive: "#111111", negative: "#222222" });
  drawing.shift(5, 6);
  drawing.rect(0, 0, 1, 1, { stroke: "#000000" });
  const text = drawing.toString();
  assert.match(text, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" width="100" height="50" viewBox="0 0 100 50"/);
  assert.match(text, /<path d="M0 1L2 3M4 5L6 7" fill="none" stroke="#0072b2" stroke-width="1\.2" stroke-dasharray="5 3" stroke-opacity="0\.5"\/>/);
  assert.match(text, /<path d="M0 5h9v-5h-9z" fill="#111111"\/>\n<path d="M10 5h9v2\.5h-9z" fill="#222222"\/>/);
  assert.match(text, /<g transform="translate\(5 6\)">\n<rect [^>]*stroke="#000000"\/><\/g><\/svg>\n$/);
});

test("a small map is rectangles, a large one a picture", () => {
  const small = surface();
  small.pixels(Uint8ClampedArray.from([255, 0, 0, 255, 0, 0, 255, 255]), 2, 1, 10, 20, 4, 2);
  assert.match(small.toString(), /<rect x="10" y="20" width="2" height="2" fill="#ff0000"\/>\n<rect x="12" y="20" width="2" height="2" fill="#0000ff"\/>/);
  const large = surface();
  large.pixels(new Uint8ClampedArray(4 * 5000), 5000, 1, 0, 0, 5, 5);
  assert.match(large.toString(), /<image x="0" y="0" width="5" height="5" [^>]*href="data:image\/png;base64,AA=="\/>/);
});

test("the matrix has queries down and keys across", () => {
  const frame = { weights: weightsFrom([[[0, 0, 0]], [[1, 0.25, 0]]]), heads: [1], shown: { query: [0], key: [0, 1, 2] } };
  const picture = matrixPicture(frame, THEME);
  assert.deepEqual([picture.rows, picture.columns, picture.most], [1, 3, 1]);
  const colour = (cell) => Array.from(picture.rgba.slice(4 * cell, 4 * cell + 4));
  assert.deepEqual(colour(0), [0, 114, 179, 255]);
  assert.deepEqual(colour(2), [255, 255, 255, 255]);
  // A quarter of the largest has half of the colour.
  assert.deepEqual(colour(1), [127, 184, 217, 255]);
});

test("cells of a matrix fit, or can be read", () => {
  const picture = { rows: 512, columns: 512 };
  const fit = matrixSizes(picture, 1000, 80);
  assert.ok(fit.width <= 1001 && !fit.fits);
  assert.equal(matrixSizes(picture, 1000, 80, { readable: true }).cell, 14);
  assert.equal(matrixSizes({ rows: 8, columns: 8 }, 1000, 80).cell, 28);
});

test("the saved head view has every line and every token, or the kept token's alone", () => {
  const weights = weightsFrom([[[0.6, 0.4], [0, 1]]]);
  const frame = { weights, heads: [0], looks: [{ head: 0, dash: [], name: "1" }], state: { least: 0.01 }, shown: { query: [0, 1], key: [0, 1] }, labels: { query: ["one", "two"], key: ["uno", "dos"] } };
  const edges = edgesOf(weights, [0], [0, 1], [0, 1], 0.01);
  const draw = (focus) => {
    const scene = headScene(frame, edges, columnWidths(600, 60), 24, focus, "Layer 1 · head 1");
    const drawing = new SvgSurface(scene.width, scene.height, { title: scene.title, measure, toPng: () => "" });
    scene.draw(drawing, THEME, 0);
    return drawing.toString();
  };
  const whole = draw(null);
  assert.equal([...whole.matchAll(/M[\d.]+ [\d.]+L/g)].length, 3);
  for (const token of ["one", "two", "uno", "dos", "Layer 1 · head 1"]) assert.ok(whole.includes(`>${token}</text>`), token);
  const focus = { side: "query", other: "key", place: 1, rows: [0, 1], mean: [0, 1], drawn: [0, 1] };
  const alone = draw(focus);
  assert.equal([...alone.matchAll(/M[\d.]+ [\d.]+L/g)].length, 1);
  assert.ok(alone.includes(">100%</text>"));
});
