// What a head does over all its rows: the ten deciles of its strength as buttons, rows of the one that is chosen, and the
// other measures beside.
import { el, svg } from "../core/dom.js";
import { headTitle } from "../report/data.js";
import { atlas, decilesOf } from "./atlas_data.js";
import { drawnToken, writtenRow } from "./atlas_words.js";

const HEIGHT = 40;
const NAMES = ["Bottom", "2nd", "3rd", "4th", "5th", "6th", "7th", "8th", "9th", "Top"];
const SUMMARY = [0, 4, 8];

function told(value, unit) {
  if (unit === "share") return `${(100 * value).toFixed(value < 0.0995 && value > 0 ? 1 : 0)}%`;
  const number = value !== 0 && Math.abs(value) < 0.01 ? value.toPrecision(2) : value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
  return unit ? `${number} ${unit}` : number;
}

// "up to 0.21", "0.21 to 0.35", "above 4.4".
export function rangeOf(deciles, decile, unit) {
  if (decile === 0) return `up to ${told(deciles[0], unit)}`;
  if (decile === 9) return `above ${told(deciles[8], unit)}`;
  return `${told(deciles[decile - 1], unit === "share" ? unit : "")} to ${told(deciles[decile], unit)}`;
}

// The distance from a row to the key with the largest weight, in words.
function where({ key, apart }) {
  if (key === null || apart === null) return "";
  if (apart === 0) return ", itself";
  return `, ${Math.abs(apart)} ${Math.abs(apart) === 1 ? "token" : "tokens"} ${apart > 0 ? "before" : "after"}`;
}

function row(one, { name, unit }) {
  const looked = one.key === null ? "the learned sink" : drawnToken(one.key);
  const says = name === "output_norm" ? "output norm " : "non-sink attention ";
  return el(
    "li",
    {},
    el("p", { class: "at-row-words" }, writtenRow(one)),
    el("p", { class: "at-soft at-row-told" }, "looked at ", el("b", {}, looked), `${where(one)} (${told(one.weight, "share")}); ${says}${told(one.value, unit)}`),
  );
}

// A bar a decile: as high as the middle of its range against the last.
function bar(deciles, decile) {
  const middle = (deciles[Math.max(0, decile - 1)] + deciles[Math.min(8, decile)]) / 2;
  const height = deciles[8] > 0 ? Math.max(2, (HEIGHT * Math.min(middle, deciles[8])) / deciles[8]) : 2;
  return svg("svg", { viewBox: `0 0 10 ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { x: 0, y: HEIGHT - height, width: 10, height }));
}

function others(measures) {
  if (!measures.length) return null;
  const line = ({ label, unit, deciles }) => el("tr", {}, el("th", { scope: "row" }, label), SUMMARY.map((at) => el("td", { class: "at-number" }, told(deciles[at], unit))));
  const header = ["", "1st decile", "median", "9th decile"].map((name) => (name ? el("th", { scope: "col", class: "at-number" }, name) : el("td")));
  return el("table", { class: "at-table" }, el("thead", {}, el("tr", {}, header)), el("tbody", {}, measures.map(line)));
}

export function decilesPart(kind, index) {
  const own = decilesOf(kind, index);
  const part = (...children) => el("section", { class: "at-deciles" }, el("h3", {}, "Distribution over tokens"), children);
  if (!own) return part(el("p", { class: "caption" }, `This run counted no rows: ${atlas.missing.distribution || "ask for the stage distribution"}.`));
  const { measures, strength, rows } = own;
  const shown = measures.find(({ name }) => name === strength) || measures[0];
  if (!shown) return part(el("p", { class: "caption" }, "All rows of this head are special tokens."));
  const { deciles, label, unit } = shown;
  const list = el("ul", { class: "at-rows" });
  const range = el("p", { class: "at-told", role: "status" });
  const buttons = NAMES.map((_, decile) => {
    const within = rangeOf(deciles, decile, unit);
    const says = { "aria-pressed": "false", "aria-label": `${decile + 1} of 10: ${label} ${within}`, title: within };
    return el("button", { type: "button", class: "at-decile", ...says, onclick: () => show(decile) }, bar(deciles, decile), el("span", {}, String(decile + 1)));
  });

  function show(decile) {
    for (const [place, button] of buttons.entries()) button.setAttribute("aria-pressed", String(place === decile));
    range.replaceChildren(`${NAMES[decile]} decile of its rows: ${label} ${rangeOf(deciles, decile, unit)}`);
    const found = rows[decile] || [];
    list.replaceChildren(...(found.length ? found.map((one) => row(one, shown)) : [el("li", { class: "at-soft" }, "This run kept no row of this decile.")]));
  }

  show(9);
  return part(
    el("div", { class: "at-decile-row", role: "group", "aria-label": `${headTitle(kind, index)}: deciles of its rows by ${label}` }, buttons),
    range,
    list,
    others(measures.filter((one) => one !== shown)),
    el("p", { class: "caption" }, `Each bar is a decile of the rows, by ${shown.name === "output_norm" ? "the head’s output norm" : "its non-sink attention"}; rows of special tokens are left out. The examples are random rows of the decile. Marked: the attending token.`),
  );
}
