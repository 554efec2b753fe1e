// What a head's explanation gets right and wrong: rows of it, the same words twice, marked by what is attended to and by
// what is predicted.
import { el } from "../core/dom.js";
import { atlas, CORPORA, explainedIn, explainedOf } from "./atlas_data.js";
import { drawnToken, wordsOf } from "./atlas_words.js";
import { explainedLine } from "../report/card.js";
import { isolatedToken, rightToLeft } from "../core/token_text.js";

// On more ink a word in the dark has less than 4.5:1 to its ground.
const STRONGEST = 36;
const LEAST = 0.005;
const GOES_ON = /^##(?=[^#])/;

const percent = (share) => `${(100 * share).toFixed(0)}%`;

// How strongly a weight is drawn, in percent of ink: by its root, so that a tenth can be seen.
export const strength = (weight) => (weight < LEAST ? 0 : Math.round(STRONGEST * Math.sqrt(Math.min(1, weight))));

// The place of the largest number, the first of several.
export const strongest = (weights) => weights.indexOf(Math.max(...weights));

// Words with each token marked by a number; "…" where tokens are left out.
function marked({ tokens, joins, gaps, at, attention, predicted }, weights) {
  return wordsOf(tokens, joins).flatMap((places, word) => {
    const turned = places.length > 1 && places.some((place) => rightToLeft(tokens[place][0]));
    const pieces = places.map((place, piece) => {
      const text = piece ? tokens[place][0].replace(GOES_ON, "") : tokens[place][0];
      const title = `${tokens[place].at(-1)}: attention ${percent(attention[place])}, predicted ${percent(predicted[place])}`;
      const span = el("span", { title, class: place === at ? "at-attends" : null }, places.length > 1 ? text : isolatedToken(text));
      span.style.setProperty("--weight", `${strength(weights[place])}%`);
      return span;
    });
    return [gaps.includes(places[0]) ? (word ? " … " : "… ") : word ? " " : "", turned ? el("bdi", {}, pieces) : pieces];
  });
}

function row(one) {
  const { best, explained, tokens, attention, predicted } = one;
  const [looked, guessed] = [strongest(attention), strongest(predicted)];
  const verdict = explained < 0 ? "worse than uniform attention" : `${percent(explained)} explained`;
  const named = (place, weights) => [el("b", {}, drawnToken(tokens[place])), ` (${percent(weights[place])})`];
  return el(
    "li",
    {},
    el("p", { class: "at-verdict" }, el("b", {}, best ? "Predicted best" : "Predicted worst"), ", from “", drawnToken(one.token), `”: ${verdict}`),
    el("span", { class: "at-side-name" }, "attends to"),
    el("span", { class: "at-weighted" }, marked(one, attention)),
    el("span", { class: "at-side-name" }, "predicted"),
    el("span", { class: "at-weighted" }, marked(one, predicted)),
    el("p", { class: "at-soft at-row-told" }, "most at ", named(looked, attention), ", predicted ", guessed === looked ? percent(predicted[guessed]) : named(guessed, predicted)),
  );
}

const WHERE = { treebank: "In the treebank", coreference: "In the coreference corpus" };

// Its sentence, where the card does not open with it, and those of corpora with annotation.
function sentences(kind, index) {
  const told = CORPORA.map((corpus) => [WHERE[corpus], explainedIn(kind, index, corpus)]).filter(([, sentence]) => sentence);
  return [explainedLine(kind, index), told.map(([where, sentence]) => el("p", { class: "at-told" }, `${where}: ${sentence}.`))];
}

export function explainedPart(kind, index) {
  const rows = explainedOf(kind, index);
  const part = (...children) => el("section", { class: "at-explained" }, el("h3", {}, "Rows predicted best and worst"), children);
  if (!rows) return part(el("p", { class: "caption" }, `This run explained no heads: ${atlas.missing.explanation || "ask for the stage explanation"}.`));
  if (!rows.length) return part(el("p", { class: "caption" }, "This head has no explanation: it needs 10 documents, and attention that is not uniform."));
  return part(
    sentences(kind, index),
    el("ul", { class: "at-rows" }, rows.map(row)),
    el("p", { class: "caption" }, "The darker, the larger the weight; underlined: the attending token. The prediction was fitted on other documents. Look at the worst rows for behavior that no rule describes yet."),
  );
}
