// Two heads side by side: the distance of their attention, and their largest differences.
import { el } from "../core/dom.js";
import { cellOf, data, headNumber, headTitle } from "../report/data.js";
import { accuracyOf, apartOf, atlas, nearestOf, ordinal } from "./atlas_data.js";
import { natsApart, tableInterval, tableNumber } from "../core/format.js";

const MOST_DIFFERENCES = 8;

// {label, unit, share, cells: one a head, gap}, the widest first.
export function differences(kind, heads) {
  const told = ({ label, share, unit }, cells, most) => {
    if (cells.some((cell) => !cell)) return null;
    return { label, share, unit, cells, gap: (cells[0].value - cells[1].value) / most };
  };
  const statistics = data.statistics.map((one) => {
    const values = kind.values[one.name] ? kind.values[one.name].value.filter((value) => value !== null) : [];
    // Nats and shares are compared on a scale from 0 to the largest value of all heads.
    return told({ ...one, unit: one.share ? "%" : "nats" }, heads.map((index) => cellOf(kind, one.name, index)), one.share ? 1 : Math.max(...values, 1e-9));
  });
  const relations = atlas.relations
    .filter(({ overall }) => !overall)
    .map((relation) => told({ label: `finds ${relation.label}`, share: true, unit: "%" }, heads.map((index) => accuracyOf(relation, kind, index)), 1));
  return [...statistics, ...relations].filter(Boolean).sort((a, b) => Math.abs(b.gap) - Math.abs(a.gap));
}

function apartLine(kind, [a, b]) {
  const near = nearestOf(kind, a) || [];
  const place = near.findIndex(([other]) => other === b);
  const nats = apartOf(kind, a, b) ?? (place < 0 ? null : near[place][1]);
  if (nats === null && near.length) return ["With this number of heads, the page has only the nearest heads of each; tables/head_distances.parquet has the distance of these two."];
  if (nats === null) return [`This run measured no distances between heads: ${atlas.missing.distances || "ask for the stage distances"}.`];
  const beside = place < 0 ? "" : `; ${headNumber(kind, b)} is the ${place ? `${ordinal(place + 1)} nearest` : "nearest"} head to ${headNumber(kind, a)}`;
  return [el("strong", {}, natsApart(nats)), ` apart (0: the same attention; 0.693: none in common)${beside}.`];
}

export function comparedPart(kind, a, b) {
  const heads = [a, b];
  const all = differences(kind, heads);
  const row = ({ label, share, unit, cells }) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, label, el("small", {}, unit)),
      cells.map((cell) => el("td", {}, tableNumber(cell.value, share), tableInterval(cell, share) ? el("small", {}, tableInterval(cell, share)) : null)),
      el("td", {}, el("b", {}, signed(cells[0].value - cells[1].value, share))),
    );
  const names = heads.map((index) => headNumber(kind, index));
  return el(
    "article",
    { class: "card at-card at-compared", "aria-label": `${headTitle(kind, a)} and ${names[1]} compared` },
    el("h2", {}, `${headTitle(kind, a)} and ${names[1]}`),
    el("p", { class: "at-apart" }, apartLine(kind, heads)),
    el(
      "table",
      { class: "at-table" },
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "They differ most in"), names.map((name) => el("th", { scope: "col" }, name)), el("th", { scope: "col" }, `${names[0]} less ${names[1]}`))),
      el("tbody", {}, all.slice(0, MOST_DIFFERENCES).map(row)),
    ),
    el("p", { class: "caption" }, "Each interval belongs to one head, on the same documents; overlapping intervals do not mean that the heads are equal. Below, both heads on the same sentences: a choice for one applies to both."),
  );
}

function signed(value, share) {
  const text = tableNumber(Math.abs(value), share);
  return /[1-9]/.test(text) ? `${value < 0 ? "−" : "+"}${text}` : text;
}
