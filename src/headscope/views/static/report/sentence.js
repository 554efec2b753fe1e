// An example sentence of a head: its weights, and a caption.
import { el } from "../core/dom.js";
import { block, roleNamed, statisticNamed } from "./data.js";
import { amount } from "../core/format.js";
import { rowsOfText } from "../core/weights.js";

let read = null;

// The clearest example sentence of a head; null if the run kept none.
export function firstSentence(kind, index) {
  read = read || block("sentences") || {};
  return (read[kind.kind] || {})[index] || null;
}

// A sentence with its weights, [query][key].
export function mapOfSentence(sentence) {
  const queries = sentence.tokens;
  const keys = sentence.keys || queries;
  return { queries, keys, weights: rowsOfText(sentence.bytes, queries.length, keys.length) };
}

export function labelOf({ what, label, outcome }) {
  if (what === "behavior") return `shows ${label}`;
  return what === "role" ? label : outcome === "right" ? `finds ${label}` : `misses ${label}`;
}

export function tellSentence(sentence) {
  if (sentence.what === "role") {
    const role = roleNamed(sentence.role) || {};
    const { statistic, says } = role.shown || role;
    const known = statisticNamed(statistic);
    const value = el("strong", {}, amount(sentence.value, !known || known.share));
    return [value, ` ${says}, over this whole input.`];
  }
  const named = ([query, key], open = "", close = "") => `${open}${sentence.tokens[query][0]}${close} → ${open}${(sentence.keys || sentence.tokens)[key][0]}${close}`;
  if (sentence.what === "behavior") return [el("strong", {}, amount(sentence.value, true)), ` on ${sentence.on}, over the tokens that repeat here: ${sentence.arcs.map((arc) => named(arc, "“", "”")).join(", ")}.`];
  const arcs = sentence.arcs.map((arc) => `${named(arc)}${arc[2] ? "" : " (missed)"}`).join(", ");
  const weight = amount(sentence.value, true);
  return sentence.outcome === "right" ? [el("strong", {}, weight), ` on the right words: ${arcs}.`] : [`Gold: ${arcs}; it looks elsewhere, with up to `, el("strong", {}, weight), "."];
}
