import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.document = { getElementById: () => null };
const { headTitle, ownLayer } = await import("../../../src/headscope/views/static/report/data.js");

test("a head of a hybrid is told with the model's own layer", () => {
  const kind = { kind: "decoder", label: "head", layers: 2, heads: 3, own: [3, 7] };
  assert.equal(headTitle(kind, 4), "Head 2-2 (the model’s layer 7)");
  assert.equal(ownLayer(kind, 0), "the model’s layer 3");
  const plain = { kind: "decoder", label: "decoder head", layers: 2, heads: 3 };
  assert.equal(headTitle(plain, 4), "Decoder head 2-2");
  assert.equal(ownLayer(plain, 1), "");
});
