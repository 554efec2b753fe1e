// What scenes draw to: a canvas on the screen. `svg_surface.js` is the same interface as a picture to save.
import { fontOf } from "./font.js";
import { fitted, isolatedToken } from "./token_text.js";

export class CanvasSurface {
  // `scale`: device pixels to one of the scene's.
  constructor(canvas, width, height, scale) {
    this.scale = scale;
    canvas.width = Math.max(1, Math.round(width * scale));
    canvas.height = Math.max(1, Math.round(height * scale));
    this.context = canvas.getContext("2d");
    this.context.scale(scale, scale);
  }

  shift(x, y) {
    this.context.translate(x, y);
  }

  // What `draw` draws counts from (x, y), and shifts of its own end with it.
  within(x, y, draw) {
    this.context.save();
    this.context.translate(x, y);
    draw();
    this.context.restore();
  }

  clear(width, height) {
    this.context.clearRect(0, 0, width, height);
  }

  rect(x, y, width, height, { fill = null, stroke = null, opacity = 1 }) {
    const { context } = this;
    context.globalAlpha = opacity;
    if (fill) {
      context.fillStyle = fill;
      context.fillRect(x, y, width, height);
    }
    if (stroke) {
      context.setLineDash([]);
      context.lineWidth = 1;
      context.strokeStyle = stroke;
      context.strokeRect(x, y, width, height);
    }
    context.globalAlpha = 1;
  }

  // Straight lines of one look: `ends` holds x1 y1 x2 y2 of each.
  lines(ends, { color, width = 1, dash = [], opacity = 1 }) {
    const { context } = this;
    context.globalAlpha = opacity;
    context.strokeStyle = color;
    context.lineWidth = width;
    context.setLineDash(dash);
    context.beginPath();
    for (let i = 0; i < ends.length; i += 4) {
      context.moveTo(ends[i], ends[i + 1]);
      context.lineTo(ends[i + 2], ends[i + 3]);
    }
    context.stroke();
    context.globalAlpha = 1;
  }

  measure(text, size = 13, bold = false) {
    this.context.font = fontOf(size, bold);
    return this.context.measureText(text).width;
  }

  // `whole` is what a saved picture names where `text` was cut to `most`.
  text(text, x, y, { color, size = 13, anchor = "start", bold = false, turn = 0, most = Infinity, opacity = 1 }) {
    const { context } = this;
    context.font = fontOf(size, bold);
    context.fillStyle = color;
    context.globalAlpha = opacity;
    context.textAlign = { start: "left", middle: "center", end: "right" }[anchor];
    context.textBaseline = "middle";
    context.direction = "ltr";
    const drawn = isolatedToken(most === Infinity ? text : fitted(text, most, (part) => context.measureText(part).width));
    if (turn) {
      context.save();
      context.translate(x, y);
      context.rotate((turn * Math.PI) / 180);
      context.fillText(drawn, 0, 0);
      context.restore();
    } else context.fillText(drawn, x, y);
    context.globalAlpha = 1;
  }

  // Upright bars, one a value: up where positive, down where negative, `most` the value of a bar of half the height.
  bars(values, x, y, width, height, { most, positive, negative }) {
    const { context } = this;
    const step = width / values.length;
    const middle = y + height / 2;
    const gap = step >= 3 ? 1 : 0;
    for (const [color, sign] of [[positive, 1], [negative, -1]]) {
      context.fillStyle = color;
      for (let i = 0; i < values.length; i++) {
        const length = Math.min(1, (sign * values[i]) / most) * (height / 2);
        if (length > 0) context.fillRect(x + i * step, sign > 0 ? middle - length : middle, step - gap, length);
      }
    }
  }

  // A picture of cells, `rgba` [row, column, 4], stretched without smoothing.
  pixels(rgba, columns, rows, x, y, width, height) {
    const { context } = this;
    context.imageSmoothingEnabled = false;
    context.drawImage(pixelCanvas(rgba, columns, rows), x, y, width, height);
  }

  path(d, { fill, x = 0, y = 0, size = 10, opacity = 1 }) {
    const { context } = this;
    context.save();
    context.translate(x, y);
    context.scale(size / 10, size / 10);
    context.globalAlpha = opacity;
    context.fillStyle = fill;
    context.fill(new Path2D(d));
    context.restore();
  }
}

export function pixelCanvas(rgba, columns, rows) {
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, columns);
  canvas.height = Math.max(1, rows);
  if (columns && rows) canvas.getContext("2d").putImageData(new ImageData(rgba, columns, rows), 0, 0);
  return canvas;
}
