// The payload's parts as bytes, and bytes as a layer's queries and keys in half precision.
import { bytesOfBase64, expectLength, padded } from "../core/weights.js";

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

export function halfToNumber(half) {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 31;
  const fraction = half & 1023;
  if (exponent === 0) return sign * 2 ** -24 * fraction;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * 2 ** (exponent - 25) * (1024 + fraction);
}

// Output norms as Python's `written_bytes` stores them: {keys [head, token], rows [head, token]} of each layer.
export function writtenOfBytes(bytes, { layers, heads, tokens }) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const one = heads * tokens;
  expectLength(bytes, padded(4 * layers * one), `what ${layers} layers of ${heads} heads write`);
  const halves = (start, count) => Float32Array.from({ length: count }, (_, i) => halfToNumber(view.getUint16(2 * (start + i), true)));
  return Array.from({ length: layers }, (_, layer) => ({ keys: halves(layer * one, one), rows: halves((layers + layer) * one, one) }));
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
