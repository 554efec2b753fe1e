// A scene as a file. A scene is {width, height, title, draw(surface, theme)}; a saved one has light colors, as paper has.
import { el } from "./dom.js";
import { fontOf } from "./font.js";
import { CanvasSurface, pixelCanvas } from "./surface.js";
import { SvgSurface } from "./svg_surface.js";
import { themeOf } from "./theme.js";

const MARGIN = 12;
export const PNG_SCALE = 2;
// Browsers refuse larger canvases.
const LONGEST_SIDE = 16000;

const rulers = {};
export function measureText(text, size = 13, bold = false) {
  const font = fontOf(size, bold);
  rulers[font] = rulers[font] || document.createElement("canvas").getContext("2d");
  rulers[font].font = font;
  return rulers[font].measureText(text).width;
}

function framed(scene, surface, theme) {
  scene.draw(surface, theme, MARGIN);
}

export function svgOfScene(scene, theme = themeOf("light")) {
  const surface = new SvgSurface(scene.width + 2 * MARGIN, scene.height + 2 * MARGIN, {
    title: scene.title,
    background: theme.card,
    measure: measureText,
    toPng: (rgba, columns, rows) => pixelCanvas(rgba, columns, rows).toDataURL("image/png"),
  });
  framed(scene, surface, theme);
  return surface.toString();
}

export function canvasOfScene(scene, theme = themeOf("light"), scale = PNG_SCALE) {
  const [width, height] = [scene.width + 2 * MARGIN, scene.height + 2 * MARGIN];
  const canvas = document.createElement("canvas");
  const surface = new CanvasSurface(canvas, width, height, Math.min(scale, LONGEST_SIDE / Math.max(width, height)));
  surface.rect(0, 0, width, height, { fill: theme.card });
  framed(scene, surface, theme);
  return canvas;
}

export async function saveScene(scene, format, name) {
  const blob =
    format === "svg"
      ? new Blob([svgOfScene(scene)], { type: "image/svg+xml" })
      : await new Promise((done) => canvasOfScene(scene).toBlob(done, "image/png"));
  if (!blob) throw new Error("The picture is too large for this browser; show fewer tokens, or save it as SVG.");
  const address = URL.createObjectURL(blob);
  const link = el("a", { href: address, download: `${name}.${format}`, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

// A name for a file from words that may hold anything.
export function fileName(...parts) {
  const safe = parts.map((part) => String(part).replace(/[^\p{L}\p{N}.-]+/gu, "-").replace(/^[-.]+|-+$/g, "")).filter(Boolean);
  return safe.join("-").slice(0, 80) || "attention";
}
