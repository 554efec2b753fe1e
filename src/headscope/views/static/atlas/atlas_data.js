// Data of the atlas beyond that of the report: accuracies, ranks, nearest heads, sentences, search terms.
import { bytesOfBase64 } from "../core/weights.js";
import { block, cellOf, data, findsOf, headNumber, pick, lookOf, sentenceOf, showsOf } from "../report/data.js";
import { phrasesSaid } from "../report/said.js";
import { rowOf } from "./atlas_words.js";

const NO_ATLAS = { model: "", run: "", report: null, missing: {}, vocabulary: [], relations: [], showings: [], kinds: {} };

const UNKNOWN = 65535;

export const atlas = block("atlas") || NO_ATLAS;

const partsOf = (kind) => atlas.kinds[kind.kind] || {};

// {x, y, cluster} in head order, or null where the run measured no distances.
export function mapPlacesOf(kind) {
  return partsOf(kind).map || null;
}

// The heads most alike: [index, nats] each, nearest first; null where the run measured no distances.
export function nearestOf(kind, index) {
  const { nearest } = partsOf(kind);
  return nearest ? nearest[index] : null;
}

// A sentence on a head by norm-weighted attention; null if norms are not known.
export function writtenOf(kind, index) {
  return (partsOf(kind).written || [])[index] || null;
}

// What a head does over all its rows: {measures: [{name, label, unit, deciles}], strength: the name of the measure that its
// rows go by, rows: those of each decile}; null where the run counted none. A row has value, weight, key and tokens as
// they are drawn (key null for a learned sink), joins: which tokens go on with the word before, apart, and at: which of
// the tokens attends.
export function decilesOf(kind, index) {
  const { distribution } = partsOf(kind);
  if (!distribution) return null;
  const { words, strengths, rows } = distribution;
  const measures = distribution.measures.filter(({ deciles }) => deciles[index]).map((one) => ({ ...one, deciles: one.deciles[index] }));
  const told = ([value, weight, key, apart, at, tokens]) => ({ value, weight, key: key < 0 ? null : words[key], apart, at, ...rowOf(words, tokens) });
  return { measures, strength: strengths[index] || null, rows: (rows[index] || []).map((each) => each.map(told)) };
}

// Rows of a head that its explanation predicts best, then worst: {best, explained, token, at, tokens, joins, gaps, attention,
// predicted}, tokens as they are drawn, at: which of them attends, -1 if none, gaps: before which of them some are left
// out; empty where nothing is explained of the head, null where the run explained none.
export function explainedOf(kind, index) {
  const { explanation } = partsOf(kind);
  if (!explanation) return null;
  const { words, rows } = explanation;
  return (rows[index] || []).map((one) => ({ ...one, best: one.prediction === "best", token: words[one.token], ...rowOf(words, one.words) }));
}

// The corpora with annotation in which heads are explained, too.
export const CORPORA = ["treebank", "coreference"];

// What explains a head in such a corpus, in a sentence; null where it has none.
export function explainedIn(kind, index, corpus) {
  return partsOf(kind).explanation?.annotated[corpus]?.[index] || null;
}

// What there is of a head's directions: [{side, axis, shares, points: [{x, y, length, token}]}], coordinates in steps, 0 the mean;
// a token has class (a name), position, at: which of the tokens around it it is, and these as rows have them. Empty
// where its layer was not measured, null where the page has no maps.
export function pcaOf(kind, index) {
  const { pca } = partsOf(kind);
  if (!pca) return null;
  const { words, classes, tokens, sides } = pca;
  const told = ([which, position, at, around]) => ({ class: classes[which], position, at, ...rowOf(words, around) });
  const own = ({ side, axis, heads }) => {
    const { shares, x, y, length } = heads[index];
    return { side, axis, shares, points: tokens[axis].slice(0, x.length).map((token, i) => ({ x: x[i], y: y[i], length: length[i], token: told(token) })) };
  };
  return sides.filter(({ heads }) => heads[index]).map(own);
}

const halves = new Map();

// The divergence of two heads of a kind in nats, to 1 in 65,534 of the largest of all; null where it was not measured.
export function apartOf(kind, a, b) {
  const { apart } = partsOf(kind);
  if (!apart || a === b) return apart ? 0 : null;
  if (!halves.has(kind.kind)) halves.set(kind.kind, bytesOfBase64(apart.bytes));
  const [low, high] = [Math.min(a, b), Math.max(a, b)];
  const count = kind.roles.length;
  // Pairs lie row by row above the diagonal.
  const place = low * count - (low * (low + 1)) / 2 + (high - low - 1);
  const bytes = halves.get(kind.kind);
  const told = bytes[2 * place] + 256 * bytes[2 * place + 1];
  return told === UNKNOWN ? null : told * apart.step;
}

export function sentencesOf(kind, index) {
  return (partsOf(kind).sentences || {})[index] || [];
}

// How well a head finds a relation: {relation, value, low, high, way, margin over the baseline, best}; null if unknown.
export function accuracyOf(relation, kind, index) {
  const columns = relation.heads[kind.kind];
  if (!columns || columns.value[index] === null) return null;
  const value = columns.value[index];
  const { best } = relation;
  return {
    relation,
    value,
    low: columns.low ? columns.low[index] : null,
    high: columns.high ? columns.high[index] : null,
    way: columns.way ? columns.way[index] : null,
    margin: relation.baseline === null ? value : value - relation.baseline,
    best: best !== null && best.kind === kind.kind && best.index === index,
    beats: best !== null && best.beats,
    tested: best !== null && best.tested,
  };
}

// A head's relations: first those that it finds, then by the distance above the baseline.
export function accuraciesOf(kind, index, most) {
  const found = new Set(findsOf(kind, index).map((one) => one.name));
  const all = atlas.relations.filter(({ overall }) => !overall).map((relation) => accuracyOf(relation, kind, index)).filter(Boolean);
  const first = (one) => (found.has(one.relation.label) ? 1 : 0);
  return all.sort((a, b) => first(b) - first(a) || b.margin - a.margin).slice(0, most);
}

export function relationNamed(name) {
  return atlas.relations.find((relation) => relation.name === name) || null;
}

export function showingNamed(name) {
  return (atlas.showings || []).find((showing) => showing.name === name) || null;
}

// How much a head does of something: {showing, value, low, high, uniform, written (of what it writes; null: not known),
// shows: 1 or 0 (null: not tested), strongest, chance}; null where it cannot occur.
export function showingOf(showing, kind, index) {
  const columns = showing.heads[kind.kind];
  const cell = columns && cellOf(kind, showing.name, index);
  if (!cell) return null;
  const { strongest } = columns;
  return {
    showing,
    value: cell.value,
    low: columns.low ? columns.low[index] : null,
    high: columns.high ? columns.high[index] : null,
    uniform: pick(columns.uniform, index),
    written: columns.written ? columns.written[index] : null,
    shows: columns.shows[index],
    strongest: strongest !== null && strongest.index === index,
    chance: strongest ? strongest.chance : null,
  };
}

// A head's behaviors: first those that it shows, then shares by their excess over uniform attention, and last
// numbers that are not shares.
export function showingsOf(kind, index, most) {
  const all = (atlas.showings || []).map((showing) => showingOf(showing, kind, index)).filter(Boolean);
  const shares = all.filter(({ showing }) => !showing.unit);
  const shown = ({ shows }) => (shows ? 1 : 0);
  const above = ({ value, uniform }) => value - uniform;
  shares.sort((a, b) => shown(b) - shown(a) || above(b) - above(a));
  return [...shares.slice(0, most), ...all.filter(({ showing }) => showing.unit)];
}

// A head's place by one statistic, from the highest: {rank, of}; null where it cannot occur.
export function rankOf(kind, statistic, index) {
  const own = cellOf(kind, statistic, index);
  if (!own) return null;
  const values = kind.values[statistic].value.filter((value) => value !== null);
  return { rank: 1 + values.filter((value) => value > own.value).length, of: values.length };
}

export function ordinal(number) {
  const teen = number % 100 >= 11 && number % 100 <= 13;
  return `${number}${(!teen && { 1: "st", 2: "nd", 3: "rd" }[number % 10]) || "th"}`;
}

// Every head as the search sees it.
export function allHeads() {
  const best = atlas.relations.filter((relation) => relation.best && !relation.overall);
  const strongest = (kind, index) => (atlas.showings || []).filter(({ heads }) => heads[kind.kind] && heads[kind.kind].strongest && heads[kind.kind].strongest.index === index);
  return data.kinds.flatMap((kind) =>
    kind.roles.map((_, index) => {
      const found = findsOf(kind, index).map((one) => one.name);
      return {
        kind,
        index,
        number: headNumber(kind, index),
        layer: Math.floor(index / kind.heads) + 1,
        role: lookOf(kind, index).name,
        finds: atlas.relations.filter(({ label }) => found.includes(label)).map(({ name }) => name),
        shows: showsOf(kind, index).map(({ id }) => id),
        says: phrasesSaid([sentenceOf(kind, index), ...CORPORA.map((corpus) => explainedIn(kind, index, corpus))].filter(Boolean)),
        strongest: strongest(kind, index).map(({ name }) => name),
        best: best.filter((relation) => relation.best.kind === kind.kind && relation.best.index === index).map(({ name }) => name),
      };
    }),
  );
}

// Notes on relations that no head is shown to find, or that were not tested: the best head is listed for them.
export function standIns(relations) {
  const told = (start, names, end) => (names.length ? [`${start} ${names.map(({ label }) => label).join(", ")} ${end}; this is the best one.`] : []);
  const wasTested = ({ best }) => Boolean(best && best.tested);
  const totals = relations.filter((one) => one.overall && !wasTested(one));
  const untested = relations.filter((one) => !one.overall && !wasTested(one));
  return [
    ...told("For", relations.filter(wasTested), "no head is shown to beat its baseline"),
    ...told("Whether a head beats its baseline was not tested for", untested, "(it needs at least 10 documents with such words)"),
    ...told("For", totals, "together, nothing is tested"),
  ];
}

// The same notes on behaviors.
export function strongestStandIns(showings) {
  const wasTested = ({ heads }) => Object.values(heads).some(({ strongest }) => strongest && strongest.tested);
  const told = (start, some, end) => (some.length ? [`${start} ${some.map(({ label }) => `“${label}”`).join(" or ")}${end}; this is the strongest one.`] : []);
  return [
    ...told("No head shows", showings.filter(wasTested), " (a quarter of its attention and twice uniform attention, whole 95% interval)"),
    ...told("Whether a head shows", showings.filter((one) => !wasTested(one)), " was not tested (it needs at least 10 documents)"),
  ];
}

// Sort heads by their accuracy at a relation, the best first.
export function runnersUp(relation, heads, most) {
  const accuracy = ({ kind, index }) => relation.heads[kind.kind].value[index] || 0;
  const scored = heads.filter(({ kind }) => relation.heads[kind.kind]);
  return scored.sort((a, b) => accuracy(b) - accuracy(a)).slice(0, most);
}

// A head worth opening first: the one that finds something furthest above its baseline.
export function headWorthOpening(heads) {
  const finders = heads.filter(({ finds }) => finds.length);
  const margin = ({ kind, index }) => accuraciesOf(kind, index, 1)[0].margin;
  const [best] = finders.sort((a, b) => margin(b) - margin(a));
  return best || heads.find(({ role }) => role !== "mixed" && role !== "broad") || heads[0];
}
