// Weights of one byte each, as `write_weights` in Python's views/quantize.py writes them: codes, then the rows' maxima.
const LEVELS = 255;
const SQUARES = Float32Array.from({ length: LEVELS + 1 }, (_, code) => (code / LEVELS) ** 2);

export function bytesOfBase64(text) {
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = characters.charCodeAt(i);
  return bytes;
}

// Every part of a page's data begins at a multiple of four bytes.
export const padded = (length) => (length + 3) & ~3;

export function expectLength(bytes, wanted, what) {
  if (bytes.length === wanted) return;
  throw new Error(`Expected ${wanted} bytes for ${what}, got ${bytes.length}; the page's data is damaged.`);
}

// Values [head, query, key]: a row's maximum, which is float32, x (code / 255)^2.
export function weightsOfBytes(bytes, heads, queries, keys) {
  const cells = heads * queries * keys;
  const rows = heads * queries;
  expectLength(bytes, padded(cells) + 4 * rows, `${heads} heads of ${queries} x ${keys} weights`);
  const maxima = new DataView(bytes.buffer, bytes.byteOffset + padded(cells));
  const values = new Float32Array(cells);
  for (let row = 0, i = 0; row < rows; row++) {
    const most = maxima.getFloat32(4 * row, true);
    for (const end = i + keys; i < end; i++) values[i] = most * SQUARES[bytes[i]];
  }
  return { heads, queries, keys, values };
}

// One head's weights[query][key] from base64.
export function rowsOfText(text, queries, keys) {
  const { values } = weightsOfBytes(bytesOfBase64(text), 1, queries, keys);
  return Array.from({ length: queries }, (_, query) => Array.from(values.subarray(query * keys, (query + 1) * keys)));
}
