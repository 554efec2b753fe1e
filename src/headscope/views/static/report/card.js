// A head's card: its role in words, its attention on one sentence, and its place among all heads.
import { el, shape } from "../core/dom.js";
import { anchorOf, effectLineOf, findsOf, headAt, headTitle, mapOf, lookOf, notesOf, sentenceOf, showsOf } from "./data.js";
import { tableInterval, tableNumber, upper } from "../core/format.js";
import { isNamed, summaryOf } from "./head_fact.js";
import { lineDiagram } from "./lines.js";
import { firstSentence, labelOf, mapOfSentence, tellSentence } from "./sentence.js";
import { strips } from "./strips.js";

// The badge of a head's attention target, or of its role; null if it has neither.
export function lookBadge(kind, index) {
  const look = lookOf(kind, index);
  return isNamed(kind, index) ? el("span", { class: `badge role-${look.name}` }, shape(look.name), look.label) : "";
}

// The first line of a card: the head's strongest supported fact.
export function summaryLine(kind, index) {
  const [name, rest] = summaryOf(kind, index);
  return [el("strong", {}, name), `${rest}.`];
}

// That training showed it where to look, where it did.
export function guidedLine(kind, index) {
  const said = (kind.guided || {})[index];
  return said ? el("p", { class: "explained" }, said) : "";
}

// What explains it, where the first line does not say it.
export function explainedLine(kind, index) {
  const sentence = sentenceOf(kind, index);
  const [, rest] = summaryOf(kind, index);
  return sentence && !upper(rest.slice(2)).endsWith(upper(sentence)) ? el("p", { class: "explained" }, `${upper(sentence)}.`) : null;
}

// What it does to the model, where effects were measured.
export function effectLine(kind, index) {
  const line = effectLineOf(kind, index);
  return line && el("p", { class: "explained" }, el("b", {}, "What it does to the model"), `: ${line}.`);
}

// Further sentences on it: what draws it, and which heads it draws. `onOpen(kind, index)`: opens a head that they name, where
// the page does not follow links to heads itself.
export function noteLines(kind, index, onOpen = null) {
  const follow = (event, { kind: other, index: place }) => {
    event.preventDefault();
    onOpen(other, place);
  };
  const linked = (part) => (typeof part === "string" ? part : el("a", { class: "head", href: `#${part[1]}`, onclick: onOpen && ((event) => follow(event, headAt(part[1]))) }, part[0]));
  return notesOf(kind, index).map((parts) => el("p", { class: "explained" }, parts.map(linked)));
}

// A line for each relation and behavior: "finds obj 74.8% (71.9–77.7) direct object", "shows induction 62.0% (58.1–66.0),
// norm-weighted 60.1%".
export function findLines(kind, index) {
  const found = [...findsOf(kind, index).map((one) => ({ ...one, verb: "finds" })), ...showsOf(kind, index).map((one) => ({ ...one, verb: "shows" }))];
  if (!found.length) return null;
  return el(
    "ul",
    { class: "finds", "aria-label": "What this head finds and shows" },
    found.map((one) => {
      const ends = tableInterval(one, true);
      return el(
        "li",
        {},
        el("span", { class: `mark role-${one.role}` }, shape(one.role)),
        el("span", {}, `${one.verb} `, el("strong", {}, one.name), one.says ? el("small", {}, ` ${one.says}`) : null),
        el("span", { class: "value" }, one.value === null ? "–" : `${tableNumber(one.value, true)}%`, ends ? el("small", {}, ` ${ends}`) : null, one.written === undefined ? null : [", ", el("small", {}, `norm-weighted ${tableNumber(one.written, true)}%`)]),
      );
    }),
  );
}

// `kept`: the token of the pinned sentence that the reader keeps: the head is then drawn on that sentence.
export function showCard(box, kind, index, kept = null) {
  const look = lookOf(kind, index);
  const title = headTitle(kind, index);
  const sentence = kept === null ? firstSentence(kind, index) : null;
  const map = sentence ? mapOfSentence(sentence) : mapOf(kind, index);
  const { atlas: address } = box.dataset;
  const link = address && el("a", { href: `${address}#${anchorOf(kind, index)}` }, "This head in the atlas");
  box.replaceChildren(
    el("h2", {}, title, lookBadge(kind, index)),
    el("p", { class: "role" }, summaryLine(kind, index)),
    guidedLine(kind, index),
    findLines(kind, index) || "",
    explainedLine(kind, index) || "",
    effectLine(kind, index) || "",
    ...noteLines(kind, index),
    link ? el("p", { class: "at-link-line" }, link, ": sentences, relations, nearest heads") : "",
    sentence ? el("p", { class: "shown" }, el("b", {}, upper(labelOf(sentence))), ": ", tellSentence(sentence)) : "",
    map
      ? lineDiagram(map, sentence ? sentence.role : look.name, `${title} on an example sentence: what each token attends to. Up and down arrows move.`, sentence ? sentence.arcs : [], kept)
      : el("p", { class: "caption" }, "This run kept no example sentence for this head."),
    strips(kind, index),
    el("p", { class: "caption" }, "Gray: every head, taller where several fall together. Dashed: uniform attention. Bar: 95% interval. Point at a token to see its attention alone. ", el("a", { href: "#glossary" }, "What these numbers are"), "."),
  );
  box.dataset.head = `${kind.kind} ${index}`;
}
