import assert from "node:assert/strict";
import { test } from "node:test";
import { SvgSurface, xmlText } from "../../../src/headscope/views/static/core/svg_surface.js";
import { matrixPicture, matrixSizes } from "../../../src/headscope/views/static/views/matrix/matrix_scene.js";
import { headScene } from "../../../src/headscope/views/static/views/head/head_scene.js";
import { RasterSurface } from "../../../src/headscope/views/static/core/raster.js";
import { edgesOf } from "../../../src/headscope/views/static/views/head/edges.js";
import { columnWidths } from "../../../src/headscope/views/static/views/head/layout.js";
import { close, weightsFrom } from "./support.mjs";

const measure = (text, size) => text.length * size * 0.5;
const surface = () => new SvgSurface(100, 50, { title: "a & b", measure, toPng: () => "data:image/png;base64,AA==" });
const THEME = { scheme: "light", ink: "#1c1e21", soft: "#59626b", card: "#ffffff", paper: "#fbfbf9", line: "#dfe3e6", shade: "#0072b3" };

test("text in a picture is text", () => {
  assert.equal(xmlText(`</script><script>"'&`), "&lt;/script&gt;&lt;script&gt;&quot;&#39;&amp;");
  assert.equal(xmlText("a\u0000b\ud800c\uffff"), "a\ufffdb\ufffdc\ufffd");
  const drawing = surface();
  drawing.text("<b>", 1, 2, { color: "#000000" });
  assert.match(drawing.toString(), /<text x="1" y="2" dy="0\.35em" font-size="13" fill="#000000">&lt;b&gt;<\/text>/);
});

test("a cut text keeps the whole as its title", () => {
  const drawing = surface();
  drawing.text("a very long token", 0, 0, { color: "#000000", size: 10, most: 30, whole: "a very long token" });
  assert.match(drawing.toString(), /<title>a very long token<\/title>a ver…<\/text>/);
});

test("shapes", () => {
  const drawing = surface();
  drawing.lines([0, 1, 2, 3, 4, 5, 6, 7], { color: "#0072b2", dash: [5, 3], opacity: 0.5, width: 1.2 });
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
  const color = (cell) => Array.from(picture.rgba.slice(4 * cell, 4 * cell + 4));
  assert.deepEqual(color(0), [0, 114, 179, 255]);
  assert.deepEqual(color(2), [255, 255, 255, 255]);
  // A quarter of the largest has half of the color.
  assert.deepEqual(color(1), [127, 184, 217, 255]);
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

// The share of black in each pixel of a raster of white ground.
function shares(raster) {
  return Array.from({ length: raster.rows }, (_, row) => Array.from({ length: raster.columns }, (_, column) => (255 - (raster.pixels[(row + 1) * raster.columns + column] & 255)) / 255));
}

const BLACK = { color: "#000000" };

test("a level line covers its row, and a line between two rows half of each", () => {
  const raster = new RasterSurface(6, 4, 1, "#ffffff");
  raster.lines([1, 1.5, 5, 1.5], BLACK);
  const on = shares(raster);
  assert.deepEqual(on[1], [0, 1, 1, 1, 1, 0]);
  assert.deepEqual(on[0], [0, 0, 0, 0, 0, 0]);
  const half = new RasterSurface(4, 4, 1, "#ffffff");
  half.lines([0, 2, 4, 2], BLACK);
  assert.ok(shares(half)[1].every((share) => Math.abs(share - 0.5) < 0.01));
  assert.ok(shares(half)[2].every((share) => Math.abs(share - 0.5) < 0.01));
});

test("the lines of every direction have the same ink, and follow their ends", () => {
  for (const [x1, y1, x2, y2] of [[5, 5, 45, 15], [45, 15, 5, 5], [5, 5, 15, 45], [15, 5, 5, 45], [5, 25, 45, 25], [25, 5, 25, 45]]) {
    const raster = new RasterSurface(50, 50, 1, "#ffffff");
    raster.lines([x1, y1, x2, y2], BLACK);
    const on = shares(raster);
    const ink = on.flat().reduce((sum, share) => sum + share, 0);
    assert.ok(Math.abs(ink - 40) < 1, `${ink} from ${x1},${y1} to ${x2},${y2}`);
    for (let t = 0.05; t < 1; t += 0.1) {
      const [x, y] = [x1 + t * (x2 - x1), y1 + t * (y2 - y1)];
      const near = [-1, 0, 1].flatMap((dy) => [-1, 0, 1].map((dx) => on[Math.floor(y) + dy][Math.floor(x) + dx]));
      assert.ok(near.reduce((sum, share) => sum + share, 0) > 0.9, `nothing at ${x},${y}`);
    }
  }
});

test("opacity, width and dashes", () => {
  const faint = new RasterSurface(4, 3, 1, "#ffffff");
  faint.lines([0, 1.5, 4, 1.5], { color: "#000000", opacity: 0.25 });
  assert.ok(shares(faint)[1].every((share) => Math.abs(share - 0.25) < 0.01));
  const wide = new RasterSurface(4, 6, 1, "#ffffff");
  wide.lines([0, 3.5, 4, 3.5], { color: "#000000", width: 3 });
  assert.deepEqual(shares(wide).map((row) => row[1]), [0, 0, 1, 1, 1, 0]);
  const dashed = new RasterSurface(12, 3, 1, "#ffffff");
  dashed.lines([0, 1.5, 12, 1.5], { color: "#000000", dash: [4, 2] });
  assert.deepEqual(shares(dashed)[1], [1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0]);
});

test("only what lies on the tile is drawn, wherever the line comes from", () => {
  for (const ends of [[0, -1000, 10, 1000], [-500, -300, 900, 1200], [0, -50, 10, -20], [3, 5000, 3, -5000]]) {
    const raster = new RasterSurface(10, 10, 2, "#ffffff");
    raster.lines(ends, BLACK);
  }
  const raster = new RasterSurface(10, 10, 1, "#ffffff", 1000);
  raster.lines([5, 0, 5, 2000], BLACK);
  assert.ok(shares(raster).every((row) => row[4] + row[5] > 0.98));
  const whole = new RasterSurface(40, 40, 1, "#ffffff");
  const part = new RasterSurface(40, 20, 1, "#ffffff", 10);
  for (const one of [whole, part]) one.lines([3, 2, 37, 36, 4, 39, 30, 1], BLACK);
  close(assert, shares(part).flat(), shares(whole).slice(10, 30).flat(), 0.01);
});

test("colors lie where a canvas has them: red first", () => {
  const raster = new RasterSurface(2, 2, 1, "#102030");
  const bytes = (count) => Array.from(new Uint8Array(raster.pixels.buffer, 8, count));
  assert.deepEqual(bytes(4), [16, 32, 48, 255]);
  raster.rect(0, 0, 1, 1, { fill: "#ff0000" });
  assert.deepEqual(bytes(8), [255, 0, 0, 255, 16, 32, 48, 255]);
});
