// The first line of a head: its role, else what it finds, else what it shows in text, else by experiment, else nothing.
import assert from "node:assert/strict";
import { test } from "node:test";

const ROLES = [{ name: "previous", label: "Previous token", says: "is on the previous token", statistic: "previous" }, { name: "mixed", label: "Mixed", says: "No role", statistic: null }];
const shows = (id, name, value) => ({ id, name, says: "in words", value, low: value - 0.1, high: value + 0.1 });
const KIND = {
  kind: "encoder", label: "head", layers: 1, heads: 6, roles: [0, 1, 1, 1, 1, 1],
  finds: { 1: [{ name: "obj", says: "direct object", value: 0.5, low: 0.4, high: 0.6 }, { name: "nsubj", says: "subject", value: 0.7, low: 0.6, high: 0.8 }] },
  shows: { 1: [shows("behaviors.local", "local", 0.9)], 2: [shows("experiments.random.previous", "previous, random tokens", 0.9), shows("behaviors.first", "first", 0.3)], 3: [shows("experiments.random.previous", "previous, random tokens", 0.9)] },
  explained: { 4: "71% explained: attends to [CLS] (60)" },
  values: {},
};

const DATA = { roles: ROLES, kinds: [KIND], statistics: [], measures: [], relations: [] };
globalThis.document = { getElementById: (id) => (id === "data" ? { textContent: JSON.stringify(DATA) } : null) };
const { briefFact, factLine, hasRole } = await import("../../../src/headscope/views/static/report/head_fact.js");

test("the strongest supported fact of a head", () => {
  assert.deepEqual([0, 1, 2, 3, 4, 5].map((index) => briefFact(KIND, index)), ["previous token", "finds nsubj", "shows first", "shows previous, random tokens", "no supported pattern", "no supported pattern"]);
  assert.deepEqual([0, 1].map((index) => hasRole(KIND, index)), [true, false]);
  assert.deepEqual(factLine(KIND, 1), ["Finds nsubj", " (subject): 70.0% of cases (95% interval 60.0 to 80.0%)."]);
  assert.deepEqual(factLine(KIND, 2), ["Shows first", " (in words): 30.0% of its attention (95% interval 20.0 to 40.0%)."]);
  assert.deepEqual(factLine(KIND, 4), ["", "71% explained: attends to [CLS] (60)."]);
  assert.deepEqual(factLine(KIND, 5), ["No supported pattern", ": no relation, behavior or role passes its threshold."]);
});
