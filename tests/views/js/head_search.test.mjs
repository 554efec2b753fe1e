import assert from "node:assert/strict";
import { test } from "node:test";
import { asksForHeads, isAskedFor, relationsAsked, showingsAsked, statisticAsked, understand, unmeasuredAsked } from "../../../src/headscope/views/static/atlas/head_search.js";
import { groupsSaid, isSaid, phrasesSaid, singular } from "../../../src/headscope/views/static/report/said.js";

const entry = (what, name, ...words) => ({ what, name, words });
const VOCABULARY = [
  entry("role", "previous", "previous", "look back", "previous token"),
  entry("role", "next", "next", "next token"),
  entry("role", "punctuation", "punctuation", "comma", "period or comma"),
  entry("role", "cls", "cls", "first token", "[cls]"),
  entry("role", "broad", "broad", "everywhere"),
  entry("relation", "obj", "obj", "object", "direct object"),
  entry("relation", "iobj", "iobj", "indirect object"),
  entry("relation", "nsubj", "nsubj", "subject"),
  entry("relation", "punct", "punct", "punctuation"),
  entry("relation", "nmod:poss", "nmod:poss", "possessor"),
  entry("relation", "coreference", "coreference", "coref", "antecedent"),
  entry("showing", "behavior.induction", "induction", "induction head"),
  entry("showing", "repeated.induction", "induction", "induction head"),
  entry("showing", "behavior.first", "first token", "sink"),
  entry("showing", "behavior.bracket", "brackets"),
  entry("statistic", "entropy", "entropy"),
  entry("unmeasured", "xcomp", "xcomp", "infinitive"),
  entry("unmeasured", "dobj", "object"),
];
const ask = (text) => understand(text, VOCABULARY);
const named = (text) => ask(text).terms.map(({ meanings }) => meanings.map(({ name }) => name));
const head = (number, role, finds = [], best = finds) => ({ kind: { kind: "encoder" }, number, layer: Number(number.split("-")[0]), role, finds, best });
const HEADS = [head("1-3", "previous"), head("2-9", "next"), head("3-1", "mixed", ["obj"]), head("3-4", "broad", ["nsubj"]), head("4-2", "punctuation", [], ["iobj"]), head("5-5", "previous", ["obj"], ["obj"])];
const FOUND = new Set(["obj", "nsubj"]);
const answers = (text) => HEADS.filter((one) => isAskedFor(one, ask(text), FOUND)).map(({ number }) => number);

test("a question in words names what is found", () => {
  assert.deepEqual(named("which head finds objects?"), [["obj"]]);
  assert.deepEqual(named("Which heads find the subject of a verb"), [["nsubj"]].concat());
  assert.deepEqual(named("who looks back?"), [["previous"]]);
  assert.deepEqual(named("indirect objects"), [["iobj"]]);
  assert.deepEqual(named("possessors"), [["nmod:poss"]]);
  assert.deepEqual(named("nmod:poss"), [["nmod:poss"]]);
  assert.deepEqual(named("[CLS]"), [["cls"]]);
});

test("a word may mean a role and a relation; a beginning is enough", () => {
  assert.deepEqual(named("punctuation"), [["punctuation", "punct"]]);
  assert.deepEqual(named("punct"), [["punct"]]);
  assert.deepEqual(named("corefer"), [["coreference"]]);
  assert.deepEqual(ask("ob").unknown, ["ob"]);
});

test("heads as people name them", () => {
  for (const text of ["L3H1", "l3h1", "L3 H1", "L3.H1", "layer 3 head 1", "Layer 3, head 1", "layer3head1", "head 1 of layer 3", "head 1 in layer 3"]) {
    const { heads, layers, unknown } = ask(text);
    assert.deepEqual(heads, [{ kind: null, layer: 3, head: 1 }], text);
    assert.deepEqual([layers, unknown], [[], []], text);
  }
  assert.deepEqual(ask("cross L2H3").heads, [{ kind: "cross", layer: 2, head: 3 }]);
  assert.deepEqual(ask("L3").layers, [3]);
  assert.deepEqual(ask("layer 3 heads that find objects").heads, []);
  assert.deepEqual(answers("L3H1"), ["3-1"]);
});

test("heads and layers by number", () => {
  assert.deepEqual(ask("8-10").heads, [{ kind: null, layer: 8, head: 10 }]);
  assert.deepEqual(ask("cross 2-3 and 1-1").heads, [{ kind: "cross", layer: 2, head: 3 }, { kind: null, layer: 1, head: 1 }]);
  assert.deepEqual(ask("layers 3, 4 and 5").layers, [3, 4, 5]);
  assert.deepEqual(ask("3-").layers, [3]);
  assert.deepEqual(ask("heads of layer 2").terms, []);
});

test("what is not known is said, and nothing is found for it", () => {
  const asked = ask("which head finds unicorns?");
  assert.deepEqual([asked.unknown, asked.terms, asksForHeads(asked)], [["unicorns"], [], false]);
  assert.deepEqual(unmeasuredAsked(ask("infinitives")).map(({ name }) => name), ["xcomp"]);
  assert.deepEqual(unmeasuredAsked(ask("objects")), []);
  assert.deepEqual(answers("infinitives"), []);
});

test("heads that answer", () => {
  assert.deepEqual(answers("which head finds objects?"), ["3-1", "5-5"]);
  assert.deepEqual(answers("previous"), ["1-3", "5-5"]);
  assert.deepEqual(answers("previous or next"), ["1-3", "2-9", "5-5"]);
  assert.deepEqual(answers("previous that finds objects"), ["5-5"]);
  assert.deepEqual(answers("objects and subjects in layer 3"), ["3-1", "3-4"]);
  assert.deepEqual(answers("comma"), ["4-2"]);
  assert.deepEqual(answers("3-4"), ["3-4"]);
  assert.deepEqual(answers("decoder 3-4"), []);
  assert.deepEqual(answers(""), HEADS.map(({ number }) => number));
});

test("where no head beats the baseline the best one stands in", () => {
  assert.deepEqual(answers("indirect object"), ["4-2"]);
});

test("what to sort by", () => {
  assert.equal(statisticAsked(ask("entropy")), "entropy");
  assert.equal(asksForHeads(ask("entropy")), false);
  assert.deepEqual(relationsAsked(ask("object, subject")), ["obj", "nsubj"]);
});

test("what heads show", () => {
  const does = (number, shows, strongest = [], role = "mixed") => ({ ...head(number, role), shows, strongest });
  const doing = [does("1-1", [], [], "cls"), does("2-1", ["behavior.first"]), does("3-1", ["behavior.induction"]), does("3-2", ["repeated.induction"]), does("4-1", [], ["behavior.bracket"])];
  const shown = new Set(doing.flatMap(({ shows }) => shows));
  const asks = (text) => doing.filter((one) => isAskedFor(one, ask(text), shown)).map(({ number }) => number);
  assert.deepEqual(asks("induction heads"), ["3-1", "3-2"]);
  assert.deepEqual(showingsAsked(ask("induction")), ["behavior.induction", "repeated.induction"]);
  assert.deepEqual(asks("sink"), ["2-1"]);
  // A role and a behavior of one name are alternatives.
  assert.deepEqual(asks("first token"), ["1-1", "2-1"]);
  // No head shows it: the strongest one stands in.
  assert.deepEqual(asks("brackets"), ["4-1"]);
});

test("plurals", () => {
  assert.deepEqual(["objects", "commas", "entities", "classes", "class", "focus", "is", "prefixes"].map(singular), ["object", "comma", "entity", "class", "class", "focus", "is", "prefix"]);
});

test("hostile questions are only words", () => {
  for (const text of ["<script>alert(1)</script>", "((((", "\u202eobject", "a".repeat(100000), "1-", "constructor __proto__ toString"]) {
    assert.ok(ask(text), text.slice(0, 20));
  }
  assert.deepEqual(ask("constructor __proto__").terms, []);
});

const SENTENCES = {
  "1-3": "Attends to [CLS] (61%), the previous token (22%) and pieces of the same word (12%); 95% predicted",
  "2-9": "Attends to the next token (76%) and “not”, “(”, “no” (4.2%) and varies with the attending token (1.1%); others 2.0%; 83% predicted",
  "3-1": "Attends to verbs (30%) and rare tokens (9.1%) and avoids nouns (12%); 51% predicted",
  "3-4": "Attends to “not”, “never” (31%); 31% predicted",
};
const SAYING = HEADS.map((one) => ({ ...one, says: phrasesSaid([SENTENCES[one.number]].filter(Boolean)) }));
const SAID = SAYING.flatMap(({ says }) => says);
const askSaid = (text) => understand(text, VOCABULARY, SAID);
const said = (text) => SAYING.filter((one) => isAskedFor(one, askSaid(text), FOUND)).map(({ number }) => number);

test("a sentence is read group by group, with their percent", () => {
  assert.deepEqual(groupsSaid(SENTENCES["1-3"]), [["Attends to [CLS]", 61], ["the previous token", 22], ["pieces of the same word", 12]]);
  assert.deepEqual(groupsSaid(SENTENCES["2-9"]), [["Attends to the next token", 76], ["“not”, “(”, “no”", 4.2], ["varies with the attending token", 1.1]]);
  assert.deepEqual(groupsSaid("No simple rule predicts a percent of its attention; all features together predict -2.0%"), []);
  assert.deepEqual(phrasesSaid([SENTENCES["3-1"]]), ["attend to verb", "avoid noun"]);
  assert.ok(isSaid(["the previous token"], "previous token"));
  assert.ok(!isSaid(["the previous token"], "prev"));
});

test("heads are found by what their sentences say, of at least 10%", () => {
  assert.deepEqual(said("piece"), ["1-3"]);
  assert.deepEqual(said("pieces of words"), ["1-3"]);
  assert.deepEqual(said("never"), ["3-4"]);
  assert.deepEqual(said("attends not"), ["3-4"]);
  assert.deepEqual(said("avoids nouns"), ["3-1"]);
  assert.deepEqual(askSaid("rare").unknown, ["rare"]);
});

test("a role is meant by sentences, too; what was tested is not", () => {
  assert.deepEqual(said("previous"), ["1-3", "5-5"]);
  assert.deepEqual(said("previous or next"), ["1-3", "2-9", "5-5"]);
  assert.deepEqual(said("subjects"), ["3-4"]);
});

test("words that any question may have are asked for where nothing else is", () => {
  assert.deepEqual(said("verbs"), ["3-1"]);
  assert.deepEqual(said("which head looks at verbs?"), ["3-1"]);
  assert.deepEqual(said("the subject of a verb"), ["3-4"]);
  assert.deepEqual(ask("verbs").terms, []);
});
