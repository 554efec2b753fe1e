// The page of a comparison: the two grids, and the card of the opened pair, which the address names.
import { el, svg } from "../core/dom.js";
import { amount, percent } from "../core/format.js";
import { rowsOfText } from "../core/weights.js";
import { kindButtons, nats, numberOf, PairGrids } from "./compare_grid.js";
import { cutTables } from "./cut_tables.js";
import { lineDiagram } from "./lines.js";

const at = (id) => document.getElementById(id);
const data = JSON.parse(at("comparison").textContent);
const CELL = 16;
const LEFT = 92;
const TOP = 64;
const card = at("pair");
let sentence = 0;

const grids = new PairGrids([at("grid-A"), at("grid-B")], at("readout"), (pair, reveal) => {
  showPair(pair);
  if (!reveal) return;
  card.focus({ preventScroll: true });
  card.scrollIntoView({ block: "nearest" });
  try {
    history.replaceState(null, "", `#${anchorOf(pair)}`);
  } catch {
    // A notebook's frame has no address of its own.
  }
});

const anchorOf = (pair) => `${grids.kind.kind}-${numberOf(grids.kind.first, pair.first)}`;

function showKind(kind) {
  // A small change stays pale: the full color is at least five times the margin.
  const top = Math.max(...kind.pairs.map((pair) => pair.change), 5 * data.margin);
  at("scale").textContent = `0 to ${nats(top)} nats apart`;
  grids.show(kind);
  grids.paint(top);
}

function showPair(pair, draw = 0) {
  sentence = draw;
  const { kind } = grids;
  const names = [numberOf(kind.first, pair.first), numberOf(kind.second, pair.second)];
  const interval = pair.ci_low === null ? "" : ` (95% interval ${nats(pair.ci_low)} to ${nats(pair.ci_high)})`;
  const random = pair.random_divergence === null ? "" : `; against random weights ${nats(pair.random_divergence)}`;
  card.replaceChildren(
    el("h2", {}, `${kind.label} ${names[0]} in A, ${names[1]} in B`, el("span", { class: `verdict ${pair.verdict}` }, pair.verdict)),
    el("p", { class: "role" }, el("strong", {}, `${nats(pair.change)} nats`), ` apart${interval}${random}.`),
    measures(pair),
    ...groups(pair),
    ...drawings(pair),
  );
}

function measures(pair) {
  if (!pair.measures.length) return el("p", { class: "caption" }, "No measure differs by a point, or by 0.01, at a false discovery rate of 5%.");
  const value = (number, { unit }) => amount(number, unit === "share");
  const signed = (number, { unit }) => `${number > 0 ? "+" : number < 0 ? "−" : ""}${unit === "share" ? `${(100 * Math.abs(number)).toFixed(1)} points` : `${Math.abs(number).toFixed(3)} ${unit}`}`;
  const rows = pair.measures.map((each) =>
    el("tr", {}, el("th", { scope: "row" }, each.label), el("td", {}, value(each.first, each)), el("td", {}, value(each.second, each)), el("td", {}, signed(each.difference, each)), el("td", { class: "ends" }, each.ci_low === null ? "" : `${signed(each.ci_low, each)} to ${signed(each.ci_high, each)}`)),
  );
  const head = el("tr", {}, ["Measure", "A", "B", "B − A", "95% interval"].map((name) => el("th", { scope: "col" }, name)));
  const note = data.by_word ? el("p", { class: "caption" }, "Each model's measures are over its own tokens, which differ.") : null;
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Measures that differ" }, note, el("table", { class: "measures" }, el("thead", {}, head), el("tbody", {}, rows)));
}

// The groups of features that explain one head of the pair, and not the other.
function groups(pair) {
  if (!pair.groups.length) return [];
  const share = (number) => percent(Math.max(number, 0));
  return [el("ul", {}, pair.groups.map(({ phrase, first, second }) => el("li", {}, `Explained by ${phrase}: ${share(first)} in A, ${share(second)} in B`)))];
}

const mapOf = ({ queries, keys, bytes }) => ({ queries: queries.map((token) => [token]), keys: keys.map((token) => [token]), weights: rowsOfText(bytes, queries.length, keys.length) });

function drawings(pair) {
  if (!pair.sentences.length) return [el("p", { class: "caption" }, "No sentences were kept for this pair.")];
  const shown = pair.sentences[Math.min(sentence, pair.sentences.length - 1)];
  const [first, second] = [mapOf(shown.first), mapOf(shown.second)];
  const choices = pair.sentences.map((_, number) =>
    el("button", { type: "button", class: "key", "aria-pressed": String(number === sentence), onclick: () => { showPair(pair, number); card.querySelectorAll(".key")[number].focus(); } }, `Sentence ${number + 1}`),
  );
  const side = (name, map, role) => el("div", {}, el("h3", {}, `${name}: ${data.names["AB".indexOf(name)]}`), lineDiagram(map, role, `Attention of the head of ${name} on the sentence`));
  const same = first.queries.length === second.queries.length && first.keys.length === second.keys.length && first.keys.every(([token], i) => token === second.keys[i][0]);
  return [
    pair.sentences.length > 1 ? el("div", { class: "choices" }, choices) : null,
    same ? el("p", { class: "caption" }, "Of the short sentences of the text, those on which the two differ most.") : null,
    el("div", { class: "drawn" }, side("A", first, "coreference"), side("B", second, "syntax"), same ? difference(first, second) : null),
  ].filter(Boolean);
}

// Weights of B minus weights of A: one color where B attends more, another where A does.
function difference(first, second) {
  const change = first.weights.map((row, query) => row.map((weight, key) => second.weights[query][key] - weight));
  const top = Math.max(...change.flat().map(Math.abs), 1e-9);
  const cells = change.flatMap((row, query) =>
    row.map((value, key) => {
      const told = `${first.queries[query][0]} → ${first.keys[key][0]}: ${percent(first.weights[query][key])} in A, ${percent(second.weights[query][key])} in B`;
      const shade = { class: value > 0 ? "more" : "less", x: LEFT + key * CELL, y: TOP + query * CELL, width: CELL - 1, height: CELL - 1, "fill-opacity": (Math.abs(value) / top).toFixed(3) };
      return svg("g", {}, svg("title", {}, told), svg("rect", { class: "empty", x: shade.x, y: shade.y, width: CELL - 1, height: CELL - 1 }), svg("rect", shade));
    }),
  );
  const across = first.keys.map(([token], key) => svg("text", { transform: `translate(${LEFT + key * CELL + CELL / 2},${TOP - 5}) rotate(-60)` }, cut(token)));
  const down = first.queries.map(([token], query) => svg("text", { x: LEFT - 5, y: TOP + query * CELL + CELL / 2, "text-anchor": "end" }, cut(token)));
  const box = `0 0 ${LEFT + first.keys.length * CELL + 40} ${TOP + first.queries.length * CELL}`;
  const key = el("p", { class: "caption" }, el("i", { class: "more" }), "more in B ", el("i", { class: "less" }), `more in A; full color: ${(100 * top).toFixed(0)} points`);
  return el("div", {}, el("h3", {}, "B − A"), svg("svg", { class: "heat-pair", viewBox: box, role: "img", "aria-label": "Difference of the two heads' attention: rows attend, columns are attended" }, cells, across, down), key);
}

const cut = (token) => (token.length > 11 ? `${token.slice(0, 10)}…` : token);

function fromAddress() {
  for (const kind of data.kinds) {
    const pair = kind.pairs.find((each) => `#${kind.kind}-${numberOf(kind.first, each.first)}` === location.hash);
    if (!pair) continue;
    if (grids.kind !== kind) chooseKind(kind);
    grids.open(pair);
    return;
  }
}

const chooseKind = kindButtons(at("kinds"), data.kinds, showKind);
chooseKind(data.kinds[0]);
document.querySelectorAll("details").forEach((fold) => (fold.open = true));
cutTables(document);
fromAddress();
addEventListener("hashchange", fromAddress);
