// Bytes to numbers: a layer's codes and row maxima, and a layer's queries and keys in half precision.
const LEVELS_OF_CODE = 255;
const SQUARES = Float32Array.from({ length: LEVELS_OF_CODE + 1 }, (_, code) => (code / LEVELS_OF_CODE) ** 2);

export function bytesOfBase64(text) {
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = characters.charCodeAt(i);
  return bytes;
}

export async function inflateRaw(bytes) {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("This browser cannot unpack the page's data. Open it in Chrome 103, Firefox 113, Safari 16.4 or newer, or write the page uncompressed.");
  }
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// The bytes of a part of the payload: {encoding, data}.
export async function unpackPart({ encoding, data }) {
  const bytes = bytesOfBase64(data);
  if (encoding === "base64") return bytes;
  if (encoding === "deflate-raw+base64") return inflateRaw(bytes);
  throw new Error(`Expected the encoding base64 or deflate-raw+base64, got ${encoding}; write the page again with this version.`);
}

const padded = (length) => (length + 3) & ~3;

function expectLength(bytes, wanted, what) {
  if (bytes.length === wanted) return;
  throw new Error(`Expected ${wanted} bytes for ${what}, got ${bytes.length}; the page's data is damaged.`);
}

// Codes [head, query, key] of one byte, then row maxima [head, query] in float32.
export function layerOfBytes(bytes, heads, queries, keys) {
  const cells = heads * queries * keys;
  const rows = heads * queries;
  expectLength(bytes, padded(cells) + 4 * rows, `${heads} heads of ${queries} x ${keys} weights`);
  const view = new DataView(bytes.buffer, bytes.byteOffset + padded(cells));
  const maxima = Float32Array.from({ length: rows }, (_, row) => view.getFloat32(4 * row, true));
  return { heads, queries, keys, codes: bytes.subarray(0, cells), maxima };
}

// Weights [head, query, key]: maximum x (code / 255)^2.
export function weightsOfLayer({ heads, queries, keys, codes, maxima }) {
  const values = new Float32Array(heads * queries * keys);
  for (let row = 0, i = 0; row < maxima.length; row++) {
    const most = maxima[row];
    for (const end = i + keys; i < end; i++) values[i] = most * SQUARES[codes[i]];
  }
  return { heads, queries, keys, values };
}

export function halfToNumber(half) {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 31;
  const fraction = half & 1023;
  if (exponent === 0) return sign * 2 ** -24 * fraction;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * 2 ** (exponent - 25) * (1024 + fraction);
}

// q [head, query, width], k [group, key, width], then the position bias and the mask where the model has them.
export function neuronOfBytes(bytes, { heads, queries, keys, width, groups, parts }) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const groupCount = Math.max(...groups) + 1;
  const biasRows = parts.bias ? parts.bias[0] : 0;
  const counts = [heads * queries * width, groupCount * keys * width, biasRows * queries * keys];
  const masked = parts.mask ? queries * keys : 0;
  expectLength(bytes, counts.reduce((sum, count) => sum + padded(2 * count), 0) + padded(masked), `queries and keys of ${heads} heads`);
  let at = 0;
  const halves = (count) => {
    const numbers = Float32Array.from({ length: count }, (_, i) => halfToNumber(view.getUint16(at + 2 * i, true)));
    at += padded(2 * count);
    return numbers;
  };
  const [q, k, bias] = counts.map(halves);
  return { heads, queries, keys, width, groups, q, k, bias: biasRows ? bias : null, biasRows, mask: masked ? bytes.subarray(at, at + masked) : null };
}
