// The same interface as CanvasSurface, as the text of an SVG file.
import { FONT } from "./font.js";
import { fitted, isolatedToken } from "./token_text.js";

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";
// Cells up to which a map is drawn as rectangles; larger ones are pictures.
const MOST_CELLS = 4096;
const ESCAPED = { "<": "&lt;", ">": "&gt;", "&": "&amp;", '"': "&quot;", "'": "&#39;" };

// Text that XML admits: no control characters, no half of a surrogate pair.
export function xmlText(text) {
  return String(text)
    .toWellFormed()
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd")
    .replace(/[<>&"']/g, (character) => ESCAPED[character]);
}

export function shortNumber(value) {
  return String(Math.round(value * 100) / 100);
}

export class SvgSurface {
  // `measure(text, size, bold)` gives widths; `toPng(rgba, columns, rows)` a data address.
  constructor(width, height, { title, background = null, measure, toPng }) {
    this.width = width;
    this.height = height;
    this.measure = measure;
    this.toPng = toPng;
    this.parts = [`<title>${xmlText(title)}</title>`];
    if (background) this.rect(0, 0, width, height, { fill: background });
  }

  // From here on, positions count from (x, y).
  shift(x, y) {
    this.parts.push(`<g transform="translate(${shortNumber(x)} ${shortNumber(y)})">`);
    this.open = (this.open || 0) + 1;
  }

  within(x, y, draw) {
    const before = this.open || 0;
    this.shift(x, y);
    draw();
    this.parts.push("</g>".repeat(this.open - before));
    this.open = before;
  }

  clear() {}

  rect(x, y, width, height, { fill = null, stroke = null, opacity = 1 }) {
    this.parts.push(
      `<rect x="${shortNumber(x)}" y="${shortNumber(y)}" width="${shortNumber(width)}" height="${shortNumber(height)}" fill="${fill || "none"}"${stroke ? ` stroke="${stroke}"` : ""}${alpha("opacity", opacity)}/>`,
    );
  }

  lines(ends, { color, width = 1, dash = [], opacity = 1 }) {
    let d = "";
    for (let i = 0; i < ends.length; i += 4) d += `M${shortNumber(ends[i])} ${shortNumber(ends[i + 1])}L${shortNumber(ends[i + 2])} ${shortNumber(ends[i + 3])}`;
    if (!d) return;
    const dashes = dash.length ? ` stroke-dasharray="${dash.join(" ")}"` : "";
    this.parts.push(`<path d="${d}" fill="none" stroke="${color}" stroke-width="${shortNumber(width)}"${dashes}${alpha("stroke-opacity", opacity)}/>`);
  }

  text(text, x, y, { color, size = 13, anchor = "start", bold = false, turn = 0, most = Infinity, opacity = 1, whole = null }) {
    const drawn = most === Infinity ? text : fitted(text, most, (part) => this.measure(part, size, bold));
    const turned = turn ? ` transform="rotate(${turn} ${shortNumber(x)} ${shortNumber(y)})"` : "";
    const named = whole !== null && whole !== drawn ? `<title>${xmlText(whole)}</title>` : "";
    const look = `${anchor === "start" ? "" : ` text-anchor="${anchor}"`}${bold ? ' font-weight="bold"' : ""}${alpha("fill-opacity", opacity)}`;
    this.parts.push(
      `<text x="${shortNumber(x)}" y="${shortNumber(y)}" dy="0.35em" font-size="${size}" fill="${color}"${look}${turned}>${named}${xmlText(isolatedToken(drawn))}</text>`,
    );
  }

  bars(values, x, y, width, height, { most, positive, negative }) {
    const step = width / values.length;
    const middle = y + height / 2;
    const wide = shortNumber(step - (step >= 3 ? 1 : 0));
    for (const [color, sign] of [[positive, 1], [negative, -1]]) {
      let d = "";
      values.forEach((value, i) => {
        const length = Math.min(1, (sign * value) / most) * (height / 2);
        if (length > 0) d += `M${shortNumber(x + i * step)} ${shortNumber(middle)}h${wide}v${shortNumber(-sign * length)}h-${wide}z`;
      });
      if (d) this.parts.push(`<path d="${d}" fill="${color}"/>`);
    }
  }

  pixels(rgba, columns, rows, x, y, width, height) {
    if (columns * rows > MOST_CELLS) {
      this.parts.push(
        `<image x="${shortNumber(x)}" y="${shortNumber(y)}" width="${shortNumber(width)}" height="${shortNumber(height)}" preserveAspectRatio="none" style="image-rendering:pixelated" href="${this.toPng(rgba, columns, rows)}"/>`,
      );
      return;
    }
    const [wide, high] = [width / columns, height / rows];
    this.parts.push('<g shape-rendering="crispEdges">');
    for (let i = 0; i < columns * rows; i++) {
      const [r, g, b, a] = rgba.subarray(4 * i, 4 * i + 4);
      if (!a) continue;
      const fill = `#${[r, g, b].map((part) => part.toString(16).padStart(2, "0")).join("")}`;
      this.rect(x + (i % columns) * wide, y + Math.floor(i / columns) * high, wide, high, { fill });
    }
    this.parts.push("</g>");
  }

  path(d, { fill, x = 0, y = 0, size = 10, opacity = 1 }) {
    this.parts.push(`<path d="${d}" fill="${fill}" transform="translate(${shortNumber(x)} ${shortNumber(y)}) scale(${size / 10})"${alpha("opacity", opacity)}/>`);
  }

  toString() {
    const [width, height] = [Math.ceil(this.width), Math.ceil(this.height)];
    return `<svg xmlns="${SVG_NAMESPACE}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="${xmlText(FONT)}">${this.parts.join("\n")}${"</g>".repeat(this.open || 0)}</svg>\n`;
  }
}

function alpha(name, value) {
  return value === 1 ? "" : ` ${name}="${Math.round(value * 1000) / 1000}"`;
}
