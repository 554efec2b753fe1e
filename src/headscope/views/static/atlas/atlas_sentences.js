// The sentences on a head's card, one at a time: where it finds something, where it copies, then where it does most of its role.
import { el, shape } from "../core/dom.js";
import { findsOf, headTitle, mapOf, lookOf, sharedSentences } from "../report/data.js";
import { atlas, sentencesOf } from "./atlas_data.js";
import { labelOf, mapOfSentence, tellSentence } from "../report/sentence.js";
import { lineDiagram } from "../report/lines.js";

// Sentences that every head is drawn on, as choices.
function sharedChoices(kind, index) {
  const all = sharedSentences(kind).map((_, number) => () => mapOf(kind, index, number));
  const there = all.filter((map) => map());
  const tell = ["A sentence that every head is drawn on."];
  return there.map((map, place) => ({ sentence: null, role: lookOf(kind, index).name, name: `the same for all heads${there.length > 1 ? ` ${place + 1}` : ""}`, tell, map, text: null }));
}

// What there is to choose from: {label, tell, map(), role, text}.
function choices(kind, index) {
  const own = sentencesOf(kind, index).map((sentence) => ({
    sentence,
    role: sentence.role,
    label: labelOf(sentence),
    tell: tellSentence(sentence),
    map: () => mapOfSentence(sentence),
    text: sentence.text,
  }));
  const found = new Set(findsOf(kind, index).map((one) => one.name));
  const isFound = (sentence) => sentence.outcome === "right" && found.has(sentence.label);
  const rank = ({ sentence }) => (isFound(sentence) ? 0 : sentence.what === "behavior" ? 1 : sentence.what === "relation" ? 2 : 3);
  own.sort((a, b) => rank(a) - rank(b));
  const numbered = new Map();
  for (const one of own) {
    numbered.set(one.label, (numbered.get(one.label) || 0) + 1);
    one.name = `${one.label} ${numbered.get(one.label)}`;
  }
  return [...own, ...sharedChoices(kind, index)];
}

// `together`: of cards that are compared, how each shows another sentence. Those that every head is drawn on are all that
// they offer, and what is chosen on one is shown on all. `wanted`: names of behaviors that were asked for, as the search has
// them: a sentence that shows one comes first.
export function sentencePart(kind, index, { onSentence = null, together = null, wanted = [] } = {}) {
  const offers = together ? sharedChoices(kind, index) : choices(kind, index);
  if (!offers.length) return el("section", { class: "at-sentences" }, el("h3", {}, "Sentences"), el("p", { class: "caption" }, "This run kept no sentence for this head."));
  const names = new Set(wanted.map((name) => name.split(".").at(-1)));
  let at = Math.max(0, offers.findIndex(({ sentence }) => sentence && sentence.what === "behavior" && names.has(sentence.name)));
  const picture = el("div");
  const told = el("p", { class: "at-told" });
  const select = el("select", { "aria-label": "Sentence", onchange: () => go(select.selectedIndex) }, offers.map(({ name }) => el("option", {}, name)));
  const step = (by, mark, name) => el("button", { type: "button", class: "at-button at-step", "aria-label": name, onclick: () => go(at + by) }, mark);
  const [back, on] = [step(-1, "‹", "Previous sentence"), step(1, "›", "Next sentence")];
  const ask = onSentence && el("button", { type: "button", class: "at-button at-ask", onclick: () => ask.give() }, "Show in the views");
  const title = headTitle(kind, index);

  function show(to) {
    at = to;
    const offer = offers[at];
    const map = offer.map();
    select.selectedIndex = at;
    [back.disabled, on.disabled] = [at === 0, at === offers.length - 1];
    told.replaceChildren(...offer.tell);
    picture.replaceChildren(lineDiagram(map, offer.role, `${title}, ${offer.name}: what each token attends to. Up and down arrows move.`, offer.sentence ? offer.sentence.arcs : []));
    if (!ask) return;
    const text = offer.text === null ? map.queries.map(([drawn]) => drawn).filter((token) => !/^(\[.*\]|<.*>)$/.test(token)).join(" ").replaceAll(" ##", "") : offer.text;
    ask.hidden = !text;
    const [layer, head] = [Math.floor(index / kind.heads) + 1, (index % kind.heads) + 1];
    ask.give = () => onSentence({ text, kind: kind.kind, layer, head, tokens: map.queries.map(([drawn, whole]) => whole || drawn) });
  }

  function go(to) {
    for (const shows of together || [show]) shows(to);
  }

  show(at);
  if (together) together.push(show);
  return el(
    "section",
    { class: "at-sentences" },
    el("div", { class: "at-sentence-top" }, el("h3", {}, "Sentences"), el("span", { class: `mark role-${offers[0].role}`, "aria-hidden": "true" }, shape(offers[0].role)), select, back, on, ask),
    told,
    picture,
    atlas.missing.top_examples ? el("p", { class: "caption" }, `This run kept few sentences: ${atlas.missing.top_examples} for more.`) : null,
  );
}
