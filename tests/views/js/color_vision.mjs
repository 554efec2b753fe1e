// How far apart two colors look, with full color vision and without one kind of cone (Machado et al. 2009).
import { rgbOf } from "../../../src/headscope/views/static/core/colors.js";

const VISIONS = {
  normal: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};

const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
const times = (matrix, vector) => matrix.map((row) => row.reduce((sum, value, i) => sum + value * vector[i], 0));

function labOf(hex, vision) {
  const rgb = times(VISIONS[vision], rgbOf(hex).map((part) => linear(part / 255))).map((part) => Math.min(1, Math.max(0, part)));
  const xyz = times([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]], rgb);
  const [x, y, z] = [xyz[0] / 0.9505, xyz[1], xyz[2] / 1.089].map((t) => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116));
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

// The least distance (CIE 1976) between any two colors, under the worst of the four kinds of vision.
export function leastDistance(colors) {
  let least = { distance: Infinity };
  for (const vision of Object.keys(VISIONS)) {
    const labs = colors.map((color) => labOf(color, vision));
    labs.forEach((a, i) => labs.slice(0, i).forEach((b, j) => {
      const distance = Math.hypot(...a.map((part, axis) => part - b[axis]));
      if (distance < least.distance) least = { distance, pair: [colors[i], colors[j]], vision };
    }));
  }
  return least;
}
