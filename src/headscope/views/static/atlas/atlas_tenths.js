// What a head does over all its rows: the ten tenths of its strength as buttons, rows of the one that is chosen, and the
// other measures beside.
import { el, svg } from "../core/dom.js";
import { headTitle } from "../report/data.js";
import { atlas, tenthsOf } from "./atlas_data.js";
import { drawnToken, writtenRow } from "./atlas_words.js";

const HEIGHT = 40;
const ORDINALS = ["1st", "2nd", "3rd", "4th", "5th", "6th", "7th", "8th", "9th", "10th"];
const SUMMARY = [0, 4, 8];

function told(value, unit) {
  if (unit === "share") return `${(100 * value).toFixed(value < 0.0995 && value > 0 ? 1 : 0)}%`;
  const number = value !== 0 && Math.abs(value) < 0.01 ? value.toPrecision(2) : value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
  return unit ? `${number} ${unit}` : number;
}

// "up to 0.21", "0.21 to 0.35", "above 4.4".
export function rangeOf(deciles, tenth, unit) {
  if (tenth === 0) return `up to ${told(deciles[0], unit)}`;
  if (tenth === 9) return `above ${told(deciles[8], unit)}`;
  return `${told(deciles[tenth - 1], unit === "share" ? unit : "")} to ${told(deciles[tenth], unit)}`;
}

// How far back, or ahead, what a row looked at is.
export function where({ key, apart }) {
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

// A bar a tenth: as high as the middle of its range against the last.
function bar(deciles, tenth) {
  const middle = (deciles[Math.max(0, tenth - 1)] + deciles[Math.min(8, tenth)]) / 2;
  const height = deciles[8] > 0 ? Math.max(2, (HEIGHT * Math.min(middle, deciles[8])) / deciles[8]) : 2;
  return svg("svg", { viewBox: `0 0 10 ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { x: 0, y: HEIGHT - height, width: 10, height }));
}

function others(measures) {
  if (!measures.length) return null;
  const line = ({ label, unit, deciles }) => el("tr", {}, el("th", { scope: "row" }, label), SUMMARY.map((at) => el("td", { class: "at-number" }, told(deciles[at], unit))));
  const header = ["", "a tenth below", "half below", "a tenth above"].map((name) => (name ? el("th", { scope: "col", class: "at-number" }, name) : el("td")));
  return el("table", { class: "at-table" }, el("thead", {}, el("tr", {}, header)), el("tbody", {}, measures.map(line)));
}

export function tenthsPart(kind, index) {
  const own = tenthsOf(kind, index);
  const part = (...children) => el("section", { class: "at-tenths" }, el("h3", {}, "Over all its rows"), children);
  if (!own) return part(el("p", { class: "caption" }, `This run counted no rows: ${atlas.missing.tenths || "ask for the stage distribution"}.`));
  const { measures, strength, rows } = own;
  const shown = measures.find(({ name }) => name === strength) || measures[0];
  if (!shown) return part(el("p", { class: "caption" }, "This head has no rows but special tokens."));
  const { deciles, label, unit } = shown;
  const list = el("ul", { class: "at-rows" });
  const range = el("p", { class: "at-told", role: "status" });
  const buttons = ORDINALS.map((_, tenth) => {
    const within = rangeOf(deciles, tenth, unit);
    const says = { "aria-pressed": "false", "aria-label": `${tenth + 1} of 10: ${label} ${within}`, title: within };
    return el("button", { type: "button", class: "at-tenth", ...says, onclick: () => show(tenth) }, bar(deciles, tenth), el("span", {}, String(tenth + 1)));
  });

  function show(tenth) {
    for (const [place, button] of buttons.entries()) button.setAttribute("aria-pressed", String(place === tenth));
    range.replaceChildren(`${ORDINALS[tenth]} tenth of its rows: ${label} ${rangeOf(deciles, tenth, unit)}`);
    const found = rows[tenth] || [];
    list.replaceChildren(...(found.length ? found.map((one) => row(one, shown)) : [el("li", { class: "at-soft" }, "This run kept no row of this tenth.")]));
  }

  show(9);
  return part(
    el("div", { class: "at-tenth-row", role: "group", "aria-label": `${headTitle(kind, index)}: tenths of its rows by ${label}` }, buttons),
    range,
    list,
    others(measures.filter((one) => one !== shown)),
    el("p", { class: "caption" }, `Each bar is a tenth of the rows, by ${shown.name === "output_norm" ? "the length of what the head writes" : "its non-sink attention"}; special tokens are no rows. The rows shown are drawn at random from the tenth. Marked: the token that attends.`),
  );
}
