import assert from "node:assert/strict";
import { test } from "node:test";
import { sceneOfAll } from "../../../src/headscope/views/static/views/all/all_scene.js";
import { readAsked, requestOf, stateOfHash, writeAsked } from "../../../src/headscope/views/static/explorer/explorer_link.js";

const ASKED = [
  { model: "org/model", text: "a & b = c # d ? e + f % g\nh" },
  { text: "</script>\u202e 😀 ä", text_b: "second", decoder_text: "third", generate: 5 },
  { part: "heads", atlas: "encoder-8-10~encoder-3-1" },
];

for (const [number, asked] of ASKED.entries()) {
  test(`address ${number + 1} is read as it was written`, () => {
    assert.deepEqual(readAsked(`#${writeAsked(asked)}`), asked);
    const hash = `#${writeAsked(asked)}&view=head&layer=2&heads=1-3,7`;
    assert.deepEqual(readAsked(hash), asked);
    assert.equal(stateOfHash(hash), "view=head&layer=2&heads=1-3,7");
    assert.ok(!/[<>"\s]/.test(writeAsked(asked)));
  });
}

test("half a character is written as its replacement", () => assert.deepEqual(readAsked(writeAsked({ text: "a\ud800b" })), { text: "a\ufffdb" }));

test("an address that somebody else wrote is read as far as it goes", () => {
  assert.deepEqual(readAsked("#text=%E0%A4%A&generate=many&color=red&=x&text-b"), { text: "", generate: 0 });
  assert.deepEqual(readAsked("#__proto__=1&view=head"), {});
  assert.deepEqual(readAsked("#text=a=b"), { text: "a=b" });
  assert.equal(stateOfHash("#"), "");
});

test("what is empty is not asked for", () => {
  const bare = { model: "m", text: "a", text_b: " ", decoder_text: "", generate: 0, part: "sentence" };
  assert.deepEqual(requestOf(bare), { model: "m", text: "a" });
  assert.deepEqual(requestOf({ ...bare, text_b: "b", generate: 2 }), { model: "m", text: "a", text_b: "b", generate: 2 });
  assert.equal(requestOf({ ...bare, text: " \n" }), null);
});

test("scenes stand in columns and do not overlap", () => {
  const drawn = [];
  const sized = (width, height) => ({ width, height, draw: () => drawn.push([width, height]) });
  const scene = sceneOfAll([[sized(100, 50), sized(80, 70)], [sized(200, 30)]], "t");
  const places = [];
  scene.draw({ within: (x, y, draw) => (places.push([x, y]), draw()) }, {}, 12);
  assert.deepEqual(places, [[0, 0], [0, 82], [132, 0]]);
  assert.deepEqual(drawn, [[100, 50], [80, 70], [200, 30]]);
  assert.deepEqual([scene.width, scene.height], [332, 152]);
});
