// What a question asks for: "which head finds objects?", "previous", "comma", "layer 3", "8-10".
import { isSaid, phraseOf, singular, wordsOf } from "../report/said.js";

const IDLE = new Set(
  ("a all an and any are as at attend attends attending attention by do does find finds finding for from give gives has have head heads i in is it its look " +
    "looks looking me most much of on one ones or please put puts rests show shows that the their them there they this to token tokens what where which who whose with word words verb verbs noun nouns").split(" "),
);
const LONGEST_PHRASE = 4;
const FEWEST_LETTERS = 3;

// Read a question. `vocabulary`: entries {what: role | relation | showing | statistic | unmeasured, name, words}; `said`:
// phrases of the sentences on all heads, whose words are understood too, as meanings {what: "said", name: phrase}.
// Returns {heads: [{kind, layer, head}], layers, terms: [{term, meanings}], unknown}: each term means any of its entries.
export function understand(query, vocabulary, said = []) {
  const asked = { heads: [], layers: [], terms: [], unknown: [] };
  let rest = query.toLowerCase();
  // "L3H1", "layer 3 head 1", "layer 3, head 1"; and the other way round.
  const named = (kind, layer, head) => asked.heads.push({ kind: kind || null, layer: Number(layer), head: Number(head) });
  rest = rest.replace(/(?:\b(encoder|decoder|cross)[\s-]+)?\bl(?:ayer)?[\s.:_-]*(\d+)[\s,.:_/-]*h(?:ead)?[\s.:_-]*(\d+)\b/g, (_, kind, layer, head) => {
    named(kind, layer, head);
    return " ";
  });
  rest = rest.replace(/\bhead\s*(\d+)\s*(?:,|of|in|at)?\s*(?:the\s+)?(?:(encoder|decoder|cross)\s+)?layer\s*(\d+)\b/g, (_, head, kind, layer) => {
    named(kind, layer, head);
    return " ";
  });
  rest = rest.replace(/(?:\b(encoder|decoder|cross)[\s-]+)?\b(\d+)\s*[-–.]\s*(\d+)\b/g, (_, kind, layer, head) => {
    named(kind, layer, head);
    return " ";
  });
  rest = rest.replace(/\bl(?=\d+\b)/g, "layer ").replace(/\blayers?\s*((?:\d+)(?:\s*(?:,|and|or|\s)\s*\d+)*)|\b(\d+)\s*-(?!\S)/g, (_, list, prefix) => {
    for (const number of (list || prefix).match(/\d+/g)) asked.layers.push(Number(number));
    return " ";
  });
  const phrases = new Map();
  for (const entry of vocabulary) {
    for (const word of entry.words) {
      const phrase = phraseOf(wordsOf(word));
      if (phrase && !(phrases.get(phrase) || []).includes(entry)) phrases.set(phrase, [...(phrases.get(phrase) || []), entry]);
    }
  }
  const words = wordsOf(rest);
  for (let at = 0; at < words.length; ) {
    const taken = longestKnown(words.slice(at, at + LONGEST_PHRASE), phrases);
    if (taken) {
      const meant = words.slice(at, at + taken.length);
      asked.terms.push({ term: meant.join(" "), meanings: withSaid(measured(taken.meanings), phraseOf(meant), said) });
      at += taken.length;
      continue;
    }
    const word = words[at++];
    if (IDLE.has(word)) continue;
    const own = singular(word);
    const meanings = word.length >= FEWEST_LETTERS ? beginningWith(own, phrases) : [];
    if (meanings.length) asked.terms.push({ term: word, meanings: withSaid(measured(meanings), own, said) });
    else if (isSaid(said, own)) asked.terms.push({ term: word, meanings: [{ what: "said", name: own }] });
    else asked.unknown.push(word);
  }
  if (!asked.terms.length && !asked.unknown.length && !asked.heads.length && !asked.layers.length) saidAlone(words, said, phrases, asked);
  return asked;
}

// "verbs": words that a question may have beside what it asks for, where nothing else is asked for. If they mean nothing by
// themselves either, nothing was understood.
function saidAlone(words, said, phrases, asked) {
  for (const word of words.filter((one) => one.length >= FEWEST_LETTERS)) {
    const own = singular(word);
    const meanings = isSaid(said, own) ? [{ what: "said", name: own }] : phrases.get(own) || [];
    if (meanings.length) asked.terms.push({ term: word, meanings });
  }
  if (!asked.terms.length) asked.unknown.push(...words);
}

// What is meant by a role is meant by the sentences that say it, too; relations and behaviors are tested, and stand alone
// where they were measured.
function withSaid(meanings, phrase, said) {
  const known = isSaid(said, phrase);
  if (known && meanings.every(({ what }) => what === "unmeasured")) return [{ what: "said", name: phrase }];
  const may = meanings.some(({ what }) => what === "role" || what === "statistic") && !meanings.some(({ what }) => what === "relation" || what === "showing");
  return may && known ? [...meanings, { what: "said", name: phrase }] : meanings;
}

// If one meaning of a word was measured in this run, take that meaning.
function measured(meanings) {
  const known = meanings.filter(({ what }) => what !== "unmeasured");
  return known.length ? known : meanings;
}

// The longest beginning of `words` that names something; one idle word ("and") names nothing by itself.
function longestKnown(words, phrases) {
  for (let length = words.length; length > 0; length--) {
    if (length === 1 && IDLE.has(words[0])) return null;
    const meanings = phrases.get(phraseOf(words.slice(0, length)));
    if (meanings) return { length, meanings };
  }
  return null;
}

function beginningWith(start, phrases) {
  const found = new Set();
  for (const [phrase, entries] of phrases) {
    if (phrase.split(" ").some((word) => word.startsWith(start))) entries.forEach((entry) => found.add(entry));
  }
  return [...found];
}

// True if the search selects heads; a statistic alone only sorts them.
export function asksForHeads(asked) {
  return asked.heads.length > 0 || asked.layers.length > 0 || groupsOf(asked).length > 0;
}

// Terms of the same sort are alternatives (no head has two roles); terms of different sorts must all hold.
function groupsOf(asked) {
  const groups = new Map();
  for (const { meanings } of asked.terms) {
    const useful = meanings.filter(({ what }) => what !== "statistic");
    if (!useful.length) continue;
    const sorts = [...new Set(useful.map(({ what }) => what))].filter((what) => what !== "said");
    // Each word that sentences alone say must hold.
    const sort = sorts.length ? sorts.sort().join() : `said ${useful[0].name}`;
    groups.set(sort, [...(groups.get(sort) || []), ...useful]);
  }
  return [...groups.values()];
}

// Whether a head {kind: {kind}, number, layer, role, finds, best, shows, strongest, says} is asked for. Where no head finds a
// relation beyond its baseline, `found` says so (a set of names) and the head that is best at it stands in; likewise the
// strongest one for what no head shows.
export function isAskedFor(head, asked, found) {
  const named = asked.heads.some(({ kind, layer, head: number }) => head.number === `${layer}-${number}` && (!kind || kind === head.kind.kind));
  if (asked.heads.length && !named) return false;
  if (asked.layers.length && !asked.layers.includes(head.layer)) return false;
  const holds = ({ what, name }) => {
    if (what === "unmeasured") return false;
    if (what === "role") return head.role === name;
    if (what === "said") return isSaid(head.says, name);
    const [own, standing] = what === "showing" ? [head.shows, head.strongest] : [head.finds, head.best];
    return (found.has(name) ? own : standing).includes(name);
  };
  return groupsOf(asked).every((meanings) => meanings.some(holds));
}

const namesAsked = (asked, sort) => [...new Set(asked.terms.flatMap(({ meanings }) => meanings.filter(({ what }) => what === sort).map(({ name }) => name)))];

export const relationsAsked = (asked) => namesAsked(asked, "relation");
export const showingsAsked = (asked) => namesAsked(asked, "showing");

export function unmeasuredAsked(asked) {
  return asked.terms.flatMap(({ meanings }) => meanings.filter(({ what }) => what === "unmeasured"));
}

export function statisticAsked(asked) {
  const entry = asked.terms.flatMap(({ meanings }) => meanings).find(({ what }) => what === "statistic");
  return entry ? entry.name : null;
}
