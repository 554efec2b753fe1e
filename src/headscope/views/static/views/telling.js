// Attention in words: for the line under a view and for screen readers.
import { percent } from "../core/format.js";
import { cutToken, isolatedToken } from "../core/token_text.js";
import { topPlaces } from "./head/edges.js";

const LONGEST_TOLD = 24;

export function toldToken(label) {
  return `“${isolatedToken(cutToken(label, LONGEST_TOLD))}”`;
}

// “approved” attends 43% to “committee”, 12% to “the”, or “committee” receives 43% from “approved”, ...
export function tellAttention(side, label, row, others, { most = 5, least = 0.005 } = {}) {
  const [verb, joint] = side === "query" ? ["attends", "to"] : ["receives", "from"];
  const places = topPlaces(row, most, least);
  const told = places.map((place) => `${percent(row[place])} ${joint} ${toldToken(others[place])}`);
  return `${toldToken(label)} ${verb} ${told.join(", ") || `less than ${percent(least)} ${joint} any token`}`;
}

// "head 3", "heads 1-3 and 7", "the mean of heads 1-3 and 7", "no head".
export function tellHeads(heads, all, { mean = false } = {}) {
  if (!heads.length) return "no head";
  if (heads.length === 1) return `head ${heads[0]}`;
  const runs = [];
  for (const head of heads) {
    const last = runs.at(-1);
    if (last && last[1] === head - 1) last[1] = head;
    else runs.push([head, head]);
  }
  const parts = runs.map(([from, to]) => (from === to ? `${from}` : to === from + 1 ? `${from}, ${to}` : `${from}–${to}`));
  const named = heads.length === all ? `all ${all} heads` : `heads ${parts.join(", ")}`;
  return mean ? `the mean of ${named}` : named;
}
