import assert from "node:assert/strict";
import { test } from "node:test";
import { rowsOfText, weightsOfBytes } from "../../../src/headscope/views/static/core/weights.js";
import { halfToNumber, unpackPart } from "../../../src/headscope/views/static/views/decode.js";
import { embeddedSource } from "../../../src/headscope/views/static/views/embedded_source.js";
import { close, golden } from "./support.mjs";

for (const name of ["by-hand", "pair", "pair-uncompressed", "three-kinds"]) {
  test(`the payload ${name} is read as Python reads it`, async () => {
    const { payload, read } = golden(name);
    const source = embeddedSource(payload);
    for (const [kindIndex, kind] of payload.kinds.entries()) {
      for (let layer = 0; layer < kind.layers.length; layer++) {
        const { values } = await source.layer(kindIndex, layer);
        close(assert, values, read[kindIndex].weights[layer].flat(2), 1e-6);
        const neuron = await source.neuron(kindIndex, layer);
        const expected = read[kindIndex].neuron[layer];
        if (!expected) {
          assert.equal(neuron, null);
          continue;
        }
        close(assert, neuron.q, expected.queries.flat(2), 1e-6);
        close(assert, neuron.k, expected.keys.flat(2), 1e-6);
        assert.equal(neuron.bias === null, expected.bias === null);
        if (neuron.bias) close(assert, neuron.bias, expected.bias.flat(2), 1e-6);
        assert.deepEqual(neuron.mask && Array.from(neuron.mask), expected.visible && expected.visible.flat());
      }
    }
  });
}

test("queries are rows and keys are columns", () => {
  // One head, two queries, three keys; the first row's maximum 0.5, the second's 1.
  const bytes = new Uint8Array(8 + 8);
  bytes.set([255, 0, 0, 0, 0, 255]);
  new DataView(bytes.buffer).setFloat32(8, 0.5, true);
  new DataView(bytes.buffer).setFloat32(12, 1, true);
  const { values } = weightsOfBytes(bytes, 1, 2, 3);
  assert.deepEqual(Array.from(values), [0.5, 0, 0, 0, 0, 1]);
  // A head of the report is written the same, as text; its rows are plain lists.
  assert.deepEqual(rowsOfText(Buffer.from(bytes).toString("base64"), 2, 3), [[0.5, 0, 0], [0, 0, 1]]);
});

test("bytes that begin anywhere are read, and a wrong number of them is refused", () => {
  const whole = new Uint8Array(3 + 8);
  whole[3] = 255;
  new DataView(whole.buffer).setFloat32(7, 0.25, true);
  assert.equal(weightsOfBytes(whole.subarray(3), 1, 1, 1).values[0], 0.25);
  assert.throws(() => weightsOfBytes(whole, 1, 1, 1), {
    message: "Expected 8 bytes for 1 heads of 1 x 1 weights, got 11; the page's data is damaged.",
  });
});

test("half precision", () => {
  const cases = [[0x0000, 0], [0x3c00, 1], [0xc000, -2], [0x7bff, 65504], [0x0400, 2 ** -14], [0x0001, 2 ** -24], [0x8001, -(2 ** -24)], [0x3555, 0.333251953125]];
  for (const [half, value] of cases) assert.equal(halfToNumber(half), value);
  assert.equal(halfToNumber(0x7c00), Infinity);
  assert.equal(halfToNumber(0xfc00), -Infinity);
  assert.ok(Number.isNaN(halfToNumber(0x7e00)));
});

test("an encoding or a version that is not known is named", async () => {
  await assert.rejects(unpackPart({ encoding: "zip", data: "" }), {
    message: "Expected the encoding base64 or deflate-raw+base64, got zip; write the page again with this version.",
  });
  assert.throws(() => embeddedSource({ schema: "headscope.attention", version: 2 }), {
    message: "Expected data of headscope.attention version 1, got headscope.attention version 2; write the page again with this version.",
  });
});

test("a browser that cannot inflate is told what can", async () => {
  const known = globalThis.DecompressionStream;
  globalThis.DecompressionStream = undefined;
  try {
    await assert.rejects(unpackPart({ encoding: "deflate-raw+base64", data: "AA==" }), /^Error: This browser cannot unpack the page's data\. Open it in Chrome 103, /);
    assert.equal((await unpackPart({ encoding: "base64", data: "/w==" }))[0], 255);
  } finally {
    globalThis.DecompressionStream = known;
  }
});
