// A head's card in the atlas: its role, relations and behaviors, sentences, its rank, all behaviors and relations,
// the heads nearest to it.
import { el, shape } from "../core/dom.js";
import { anchorOf, data, headNumber, headTitle, lookOf } from "../report/data.js";
import { accuraciesOf, atlas, nearestOf, ordinal, rankOf, showingsOf, writtenOf } from "./atlas_data.js";
import { effectLine, findLines, guidedLine, lookBadge, noteLines, summaryLine } from "../report/card.js";
import { summaryOf } from "../report/head_fact.js";
import { natsApart, tableInterval, tableNumber } from "../core/format.js";
import { sentencePart } from "./atlas_sentences.js";
import { pcaPart } from "./atlas_pca.js";
import { decilesPart } from "./atlas_deciles.js";
import { explainedPart } from "./atlas_explained.js";
import { strips } from "../report/strips.js";

const MOST_RELATIONS = 6;
const MOST_BEHAVIORS = 7;
const WAYS = ["dependent → head", "head → dependent"];

function relationsTable(kind, index) {
  const rows = accuraciesOf(kind, index, MOST_RELATIONS);
  if (!rows.length) return el("p", { class: "caption" }, `This run measured no relations: ${atlas.missing.relations || "there is no treebank"}.`);
  const row = (one) => {
    const { relation, value, way, best, beats, tested } = one;
    const ends = tableInterval(one, true);
    const mark = best ? (beats ? "chosen, beats it" : tested ? "chosen, not shown to beat it" : "chosen, not tested") : "";
    return el(
      "tr",
      {},
      el("th", { scope: "row" }, relation.label, relation.says ? el("small", {}, relation.says) : null),
      el("td", {}, tableNumber(value, true), ends ? el("small", {}, ends) : null),
      el("td", {}, tableNumber(relation.baseline, true)),
      el("td", { class: "words" }, mark ? el("b", {}, mark) : "", way === null || way < 0 ? null : el("small", {}, WAYS[way])),
    );
  };
  const header = ["Relation", "accuracy %", "baseline %", ""].map((name) => (name ? el("th", { scope: "col" }, name) : el("td")));
  return [
    el("table", { class: "at-table at-relations" }, el("thead", {}, el("tr", {}, header)), el("tbody", {}, rows.map(row))),
    el("p", { class: "caption" }, "Relations in which the head is furthest above the baseline (the best fixed offset; the nearest candidate). “Chosen”: selected among all heads on one half of the documents; the test against the baseline uses the other half and needs 10 documents."),
  ];
}

function behaviorsTable(kind, index) {
  const rows = showingsOf(kind, index, MOST_BEHAVIORS);
  if (!rows.length) return el("p", { class: "caption" }, `This run measured no behaviors: ${atlas.missing.behaviors || "none can occur here"}.`);
  const wrote = rows.some((one) => one.written !== null);
  const row = (one) => {
    const { showing, value, uniform, written, shows, strongest, chance } = one;
    const share = !showing.unit;
    const number = (given) => (given === null ? "–" : share ? tableNumber(given, true) : `${given.toFixed(1)} ${showing.unit}`);
    const ends = one.low === null ? "" : share ? tableInterval(one, true) : `${one.low.toFixed(1)}–${one.high.toFixed(1)}`;
    return el(
      "tr",
      {},
      el("th", { scope: "row" }, showing.label, el("small", {}, showing.says)),
      el("td", {}, number(value), ends ? el("small", {}, ends) : null),
      wrote ? el("td", {}, number(written)) : null,
      el("td", {}, number(uniform), chance === null || !share ? null : el("small", {}, `random ${number(chance)}`)),
      el("td", { class: "words" }, shows ? el("b", {}, "shows it") : shows === null && share ? "not tested" : "", strongest ? el("small", {}, `strongest of ${kind.roles.length}`) : null),
    );
  };
  const header = ["Behavior", "attention %", ...(wrote ? ["norm %"] : []), "uniform %", ""].map((name) => (name ? el("th", { scope: "col" }, name) : el("td")));
  return [
    el("table", { class: "at-table at-relations at-behaviors" }, el("thead", {}, el("tr", {}, header)), el("tbody", {}, rows.map(row))),
    el("p", { class: "caption" }, "Behaviors that the head shows, then those furthest above uniform attention in the same rows; “random”: the strongest head of a model with random weights, selected in the same way. A head shows a behavior with more than a quarter of its attention and more than twice uniform attention (whole 95% interval).", wrote ? " “Norm”: norm-weighted, each weight times the norm of the vector that the head writes of the token." : null),
  ];
}

function nearestPart(kind, index, { onOpen, onCompare }) {
  const near = nearestOf(kind, index);
  if (!near) return el("p", { class: "caption" }, `This run measured no distances between heads: ${atlas.missing.distances || "ask for the stage distances"}.`);
  const line = ([other, nats]) => {
    const role = lookOf(kind, other);
    const open = (event) => {
      event.preventDefault();
      event.stopPropagation();
      onOpen(kind, other);
    };
    return el(
      "li",
      {},
      el("span", { class: `mark role-${role.name}` }, shape(role.name)),
      el("a", { class: "head", href: `#${anchorOf(kind, other)}`, onclick: open }, headNumber(kind, other)),
      el("span", { class: "at-soft" }, summaryOf(kind, other)[0]),
      el("span", { class: "at-nats" }, natsApart(nats)),
      onCompare ? el("button", { type: "button", class: "at-button", "aria-label": `Compare with ${headNumber(kind, other)}`, onclick: () => onCompare(other) }, "compare") : null,
    );
  };
  return [
    el("ul", { class: "at-nearest" }, near.map(line)),
    el("p", { class: "caption" }, "Jensen-Shannon divergence of their attention, averaged over all tokens; 0: identical, ln 2 = 0.693: the maximum."),
  ];
}

// `together`: of heads that are compared, what their cards show together.
// `actions`: onOpen(kind, index), onCompare(index or nothing), onClose, onSentence, null where there is none; `wanted`: behaviors
// that were asked for.
export function atlasCard(kind, index, actions, { level = 2, together = null } = {}) {
  const title = headTitle(kind, index);
  const part = (name, ...children) => el("section", {}, el("h3", {}, name), children);
  const { onCompare, onClose } = actions;
  const written = writtenOf(kind, index);
  const rank = (name) => {
    const place = rankOf(kind, name, index);
    return place && { short: ordinal(place.rank), whole: `${ordinal(place.rank)} highest of ${place.of}` };
  };
  return el(
    "article",
    { class: "card at-card", "aria-label": title, tabindex: -1, "data-head": anchorOf(kind, index) },
    el(
      "div",
      { class: "at-card-top" },
      el(`h${level}`, {}, title, lookBadge(kind, index)),
      el(
        "div",
        { class: "at-card-actions" },
        onCompare ? el("button", { type: "button", class: "at-button", onclick: () => onCompare() }, "Compare") : null,
        onClose ? el("button", { type: "button", class: "at-button", "aria-label": `Close ${title}`, onclick: onClose }, "×") : null,
      ),
    ),
    el("p", { class: "role" }, summaryLine(kind, index)),
    guidedLine(kind, index),
    written ? el("p", { class: "at-written" }, written) : null,
    findLines(kind, index),
    effectLine(kind, index),
    noteLines(kind, index, actions.onOpen),
    sentencePart(kind, index, { onSentence: actions.onSentence, together, wanted: actions.wanted }),
    explainedPart(kind, index),
    decilesPart(kind, index),
    pcaPart(kind, index),
    part(`Rank among ${kind.roles.length} ${data.kinds.length > 1 ? `${kind.kind} ` : ""}heads`, strips(kind, index, rank), el("p", { class: "caption" }, "Gray: every head. Dashed: uniform attention. Bar: 95% interval. Last column: rank, from the highest.")),
    part("What it does", behaviorsTable(kind, index)),
    part("Relations", relationsTable(kind, index)),
    part("Nearest heads", nearestPart(kind, index, actions)),
  );
}
