// Many thin straight lines, quickly: drawn pixel by pixel onto an opaque ground.
// A canvas without a graphics card needs some 40 microseconds for a line; a text of 512 tokens has tens of thousands.
import { rgbOf } from "./colors.js";

// Buffers to be used again: a hover draws a few tiles of one size, many times a second.
let spares = [];
const MOST_SPARES = 4;

// The interface of CanvasSurface, for lines and plain rectangles only.
export class RasterSurface {
  // `width` x `height` at `scale`, filled with the color `ground`; y counts from `top`.
  constructor(width, height, scale, ground, top = 0) {
    this.scale = scale;
    this.columns = Math.max(1, Math.round(width * scale));
    this.rows = Math.max(1, Math.round(height * scale));
    // A row more above and below, for lines whose color is shared by a pixel on either side of the edge.
    this.top = top * scale - 1;
    this.allRows = this.rows + 2;
    // A pixel is a number, 0xaabbggrr: every machine that runs a browser stores its lowest byte first.
    const count = this.columns * this.allRows;
    this.pixels = spares.find((spare) => spare.length === count) || new Int32Array(count);
    spares = spares.filter((spare) => spare !== this.pixels);
    this.pixels.fill(pixelOf(ground));
  }

  rect(x, y, width, height, { fill, opacity = 1 }) {
    const { scale, columns, allRows, top } = this;
    const source = pixelOf(fill);
    const edge = (value, most) => Math.min(most, Math.max(0, Math.round(value)));
    for (let row = edge(y * scale - top, allRows); row < edge((y + height) * scale - top, allRows); row++) {
      for (let column = edge(x * scale, columns); column < edge((x + width) * scale, columns); column++) this.blend(row * columns + column, source, (256 * opacity) | 0);
    }
  }

  // `ends`: x1 y1 x2 y2 of each line.
  lines(ends, { color, width = 1, dash = [], opacity = 1 }) {
    const source = pixelOf(color);
    const { scale, top } = this;
    const pattern = dash.length ? dash.map((length) => length * scale) : null;
    for (let i = 0; i < ends.length; i += 4) {
      this.line(ends[i] * scale, ends[i + 1] * scale - top, ends[i + 2] * scale, ends[i + 3] * scale - top, width * scale, source, opacity, pattern);
    }
  }

  // A line is as many lines of one pixel, side by side, as it is wide.
  line(x1, y1, x2, y2, width, source, opacity, pattern) {
    const strands = Math.max(1, Math.round(width));
    const share = Math.min(256, (256 * opacity * width) / strands);
    const steep = Math.abs(y2 - y1) > Math.abs(x2 - x1);
    for (let i = 0; i < strands; i++) {
      const aside = i - (strands - 1) / 2;
      if (steep) this.strand(y1, x1 + aside, y2, x2 + aside, this.columns, this.allRows, 1, this.columns, source, share, pattern);
      else this.strand(x1, y1 + aside, x2, y2 + aside, 1, this.columns, this.columns, this.allRows, source, share, pattern);
    }
  }

  // Steps along the longer axis, `a`; across it, along `c`, the two nearest pixels share the color by their distance.
  strand(a1, c1, a2, c2, stepAlong, along, stepAcross, across, source, full, pattern) {
    if (a1 > a2) return this.strand(a2, c2, a1, c1, stepAlong, along, stepAcross, across, source, full, pattern);
    const slope = a2 > a1 ? (c2 - c1) / (a2 - a1) : 0;
    const base = c1 - 0.5 - slope * (a1 - 0.5);
    let from = Math.max(0, Math.round(a1));
    let to = Math.min(along, Math.round(a2));
    // Only where both pixels lie inside.
    if (slope === 0) {
      if (base < 0 || base >= across - 1) return undefined;
    } else {
      const [one, other] = [-base / slope, (across - 1 - base) / slope];
      from = Math.max(from, Math.ceil(Math.min(one, other)));
      to = Math.min(to, Math.ceil(Math.max(one, other)));
    }
    const { pixels } = this;
    const redBlue = source & 0xff00ff;
    const green = source & 0x00ff00;
    const longer = Math.sqrt(1 + slope * slope);
    for (let a = from | 0; a < to; a++) {
      if (pattern !== null && gapAt(pattern, (a + 0.5 - a1) * longer)) continue;
      const c = base + slope * a;
      const near = c | 0;
      const second = (full * (c - near)) | 0;
      const first = (full - second) | 0;
      const at = a * stepAlong + near * stepAcross;
      const was = pixels[at];
      const next = pixels[at + stepAcross];
      pixels[at] =
        0xff000000 |
        (((Math.imul(was & 0xff00ff, 256 - first) + Math.imul(redBlue, first)) >>> 8) & 0xff00ff) |
        (((Math.imul(was & 0x00ff00, 256 - first) + Math.imul(green, first)) >>> 8) & 0x00ff00);
      pixels[at + stepAcross] =
        0xff000000 |
        (((Math.imul(next & 0xff00ff, 256 - second) + Math.imul(redBlue, second)) >>> 8) & 0xff00ff) |
        (((Math.imul(next & 0x00ff00, 256 - second) + Math.imul(green, second)) >>> 8) & 0x00ff00);
    }
    return undefined;
  }

  // `share` of 256 of a color over a pixel.
  blend(at, source, share) {
    const was = this.pixels[at];
    const rest = 256 - share;
    this.pixels[at] =
      0xff000000 |
      (((Math.imul(was & 0xff00ff, rest) + Math.imul(source & 0xff00ff, share)) >>> 8) & 0xff00ff) |
      (((Math.imul(was & 0x00ff00, rest) + Math.imul(source & 0x00ff00, share)) >>> 8) & 0x00ff00);
  }

  onto(canvas) {
    canvas.width = this.columns;
    canvas.height = this.rows;
    const bytes = new Uint8ClampedArray(this.pixels.buffer, 4 * this.columns, 4 * this.columns * this.rows);
    canvas.getContext("2d").putImageData(new ImageData(bytes, this.columns, this.rows), 0, 0);
  }

  // The drawing is done and shown.
  release() {
    if (spares.length < MOST_SPARES) spares.push(this.pixels);
    this.pixels = null;
  }
}

function pixelOf(color) {
  const [r, g, b] = rgbOf(color);
  return (255 << 24) | (b << 16) | (g << 8) | r;
}

// Whether a place along a dashed line lies in a gap.
function gapAt(pattern, distance) {
  let whole = 0;
  for (const length of pattern) whole += length;
  let left = distance % whole;
  for (let i = 0; i < pattern.length; i++) {
    if (left < pattern[i]) return i % 2 === 1;
    left -= pattern[i];
  }
  return false;
}
