import assert from "node:assert/strict";
import { test } from "node:test";
import { figureCode } from "../../../src/headscope/views/static/views/figure_code.js";
import { framed } from "../../../src/headscope/views/static/views/frame.js";
import { OFFERED, viewNamed, VIEWS } from "../../../src/headscope/views/static/views/list.js";
import { readState, settle, writeState } from "../../../src/headscope/views/static/views/state_link.js";
import { axisOf, kindOf, payloadOf, randomWeights } from "./support.mjs";

const KIND = kindOf(axisOf(["a", "b", "c"]), { roles: [["previous", null, "sep", null], [], []] });
const PAYLOAD = payloadOf(KIND);

for (const view of VIEWS) {
  test(`${view.name} describes itself`, () => {
    assert.match(view.name, /^[a-z]+$/);
    assert.match(view.label, /^[A-Z][a-z ]+$/);
    assert.ok(["several", "mean", "one", "layers"].includes(view.heads), view.heads);
    assert.ok(["weights", "queries and keys"].includes(view.needs), view.needs);
    assert.ok(["any", "token"].includes(view.level), view.level);
    assert.equal(typeof view.element, "function");
    // What is folded away says what it is.
    assert.equal(view.needs === "weights", view.about === undefined);
    assert.equal(viewNamed(view.name), view);
  });

  test(`${view.name} is kept in an address with each of its choices`, () => {
    for (const { name, options } of view.fields ?? []) {
      for (const [value] of options(KIND)) {
        const state = settle({ view: view.name, [name]: value }, PAYLOAD);
        assert.deepEqual([state.view, state[name]], [view.name, value]);
        const hash = writeState(state, PAYLOAD);
        assert.equal(hash.includes(`${name}=`), value !== options(KIND)[0][0]);
        assert.deepEqual(readState(hash, PAYLOAD), state);
      }
      assert.equal(settle({ [name]: "no such choice" }, PAYLOAD)[name], options(KIND)[0][0]);
    }
  });

  test(`${view.name} is drawn again by Python`, () => {
    const code = figureCode(view, `view=${view.name}&layer=2`, '"m", "a text"');
    const opens = view.gathers ? OFFERED[0] : view.name;
    assert.equal(code, `import headscope as hs\n\nhs.${view.call || "head_view"}("m", "a text", state="view=${opens}&layer=2")\n`);
  });
}

test("names, and names of choices, are each of one thing", () => {
  assert.equal(new Set(VIEWS.map(({ name }) => name)).size, VIEWS.length);
  const fields = VIEWS.flatMap(({ fields = [] }) => fields);
  assert.equal(new Set(fields).size, new Set(fields.map(({ name }) => name)).size);
  assert.ok(OFFERED.length > 0 && OFFERED.every((name) => !viewNamed(name).gathers));
});

test("a frame holds the heads that a view draws", () => {
  const frame = { state: { heads: [2, 3], head: 0, mean: false }, kind: KIND, weights: randomWeights(4, 3, 3) };
  const names = (heads, state = {}) => framed({ heads }, { ...frame, state: { ...frame.state, ...state } }).looks?.map(({ name }) => name);
  assert.deepEqual(names("several"), ["2", "3"]);
  assert.deepEqual(names("mean"), ["mean"]);
  assert.deepEqual(names("mean", { head: 4 }), ["4"]);
  assert.deepEqual(names("one"), ["1"]);
  assert.deepEqual(names("one", { head: 4 }), ["4"]);
  assert.equal(framed({ heads: "layers" }, frame), frame);
});
