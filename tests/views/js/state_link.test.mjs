import assert from "node:assert/strict";
import { test } from "node:test";
import { firstState, readNumbers, readState, settle, stepsOf, writeNumbers, writeState } from "../../../src/headscope/views/static/views/state_link.js";
import { axisOf, kindOf, payloadOf } from "./support.mjs";

const PAIR = kindOf(axisOf(["[CLS]", "a", "##b", "[SEP]", "c"], { words: [null, 0, 0, null, 1], word_text: ["ab", "c"], segment_b: 4, special: [0, 3] }), {
  layers: [2, 5, 9],
  heads: 12,
  roles: [["previous"], ["sep"], [null]],
});
const CROSS = kindOf(axisOf(["x", "y"]), { kind: "cross", keys: axisOf(["a", "b", "c"]), layers: [1], heads: 2 });
const PAYLOAD = payloadOf(PAIR, CROSS);

test("the first state is the mean of all heads, with faint lines to where attention rests", () => {
  const state = firstState(PAYLOAD);
  assert.deepEqual([state.mean, state.faint], [true, true]);
  assert.deepEqual(state.heads, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  assert.deepEqual([state.view, state.kind, state.layer, state.least, state.token], ["head", "encoder", 2, 0.01, null]);
  assert.equal(writeState(state, PAYLOAD), "view=head&layer=2");
});

const STATES = [
  { view: "neuron", layer: 9, head: 3, token: { side: "query", at: 4 }, order: "weight" },
  { view: "heatmap", head: 0, direction: "given", level: "word", token: { side: "key", at: 0 } },
  { view: "model", sort: "entropy", role: "sep", draw: "maps", open: true, layer: 5, head: 12 },
  { view: "matrix", zoom: "read", special: false, filter: "ba" },
  { heads: [1, 2, 3, 7, 9, 10], mean: true, least: 0.05 },
  { heads: [] },
  { mean: false, faint: false },
  { heads: [4, 5], mean: false },
  { kind: "cross", heads: [2], layer: 1 },
];

for (const [number, parts] of STATES.entries()) {
  test(`state ${number + 1} comes back from its address`, () => {
    const state = settle(parts, PAYLOAD);
    for (const [name, value] of Object.entries(parts)) assert.deepEqual(state[name], value, name);
    assert.deepEqual(readState(`#${writeState(state, PAYLOAD)}`, PAYLOAD), state);
  });
}

test("an address as a person reads it", () => {
  assert.equal(writeState(settle({ layer: 5, heads: [1, 2, 3, 7], token: { side: "key", at: 2 } }, PAYLOAD), PAYLOAD), "view=head&layer=5&heads=1-3,7&token=k3");
});

test("heads that are named are drawn as they are, all of them as their mean, unless the address says", () => {
  assert.equal(readState("#heads=1,3", PAYLOAD).mean, false);
  assert.equal(readState("#heads=1,3&mean=1", PAYLOAD).mean, true);
  assert.equal(readState("#layer=5", PAYLOAD).mean, true);
  assert.equal(readState("#mean=0", PAYLOAD).mean, false);
  assert.equal(writeState(settle({ mean: false, faint: false }, PAYLOAD), PAYLOAD), "view=head&layer=2&mean=0&faint=0");
  assert.equal(firstState(payloadOf(kindOf(axisOf(["a"]), { heads: 1 }))).mean, false);
});

const BAD = {
  "#": {},
  "#view=sky&kind=moon&layer=4&heads=99&head=13": {},
  "#heads=1-&layer=x&token=q9&least=0.3&level=sentence&filter=zz&sort=size&draw=oil": {},
  "#token=q0": {},
  "#view=%E0%A4%A&layer": {},
  "#__proto__=1&heads=1,,2": {},
  "#heads=3-1": {},
};
for (const hash of Object.keys(BAD)) {
  test(`${hash} falls back to the first state`, () => assert.deepEqual(readState(hash, PAYLOAD), firstState(PAYLOAD)));
}

test("what an input does not offer is not shown", () => {
  const state = readState("#kind=cross&level=word&filter=ab&special=0&role=sep&layer=3", PAYLOAD);
  assert.deepEqual([state.kind, state.level, state.filter, state.special, state.role, state.layer], ["cross", "token", "all", true, "", 1]);
  assert.deepEqual(readState("#kind=cross&token=k3", PAYLOAD).token, { side: "key", at: 2 });
  assert.equal(readState("#kind=cross&token=q3", PAYLOAD).token, null);
});

test("heads by their labels, where the payload names them", () => {
  const some = payloadOf(kindOf(axisOf(["a"]), { heads: 3, head_labels: [2, 5, 11] }));
  assert.deepEqual(firstState(some).heads, [2, 5, 11]);
  assert.deepEqual(readState("#heads=5-11&head=5", some).heads, [5, 11]);
  assert.equal(readState("#head=3", some).head, 0);
  assert.equal(writeState(firstState(some), some), "view=head&layer=1");
});

test("numbers as runs", () => {
  assert.equal(writeNumbers([7, 1, 2, 3, 3]), "1-3,7");
  assert.equal(writeNumbers([]), "none");
  assert.deepEqual(readNumbers("1-3,7", 12), [1, 2, 3, 7]);
  assert.deepEqual(readNumbers("10-99999", 12), [10, 11, 12]);
  assert.deepEqual(readNumbers("none", 12), []);
  assert.equal(readNumbers("0", 12), null);
  assert.equal(readNumbers("a", 12), null);
});

test("steps are the rows that chose the generated tokens", () => {
  assert.deepEqual(stepsOf(kindOf(axisOf(["a", "b", "c", "d"], { generated: 2 }))), [1, 2]);
  assert.deepEqual(stepsOf(kindOf(axisOf(["<s>", "b"], { generated: 0 }))), [0]);
  assert.deepEqual(stepsOf(kindOf(axisOf(["a", "b"], { generated: 2 }))), []);
  assert.deepEqual(stepsOf(PAIR), []);
});
