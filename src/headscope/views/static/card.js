// A head's card: its role in words, what it does on one sentence, and where it stands among all heads.
import { el, shape } from "./dom.js";
import { cellOf, headTitle, mapOf, roleOf, statisticNamed } from "./data.js";
import { amount, tableInterval, tableNumber } from "./format.js";
import { lineDiagram } from "./lines.js";
import { strips } from "./strips.js";

function roleLine(kind, index) {
  const role = roleOf(kind, index);
  const cell = role.statistic && cellOf(kind, role.statistic, index);
  if (!cell) return [`${role.says}.`];
  const { share } = statisticNamed(role.statistic);
  const ends = tableInterval(cell, share);
  if (!ends) return [el("strong", {}, amount(cell.value, share)), ` ${role.says}.`];
  // The value with the interval's decimals, so that rounding never puts it outside.
  const value = `${tableNumber(cell.value, share)}${share ? "%" : " nats"}`;
  const interval = `${ends.replace("–", " to ")}${share ? "%" : ""}`;
  return [el("strong", {}, value), ` ${role.says} (95% interval ${interval}).`];
}

export function showCard(box, kind, index) {
  const role = roleOf(kind, index);
  const title = headTitle(kind, index);
  const map = mapOf(kind, index);
  box.replaceChildren(
    el("h2", {}, title, el("span", { class: `badge role-${role.name}` }, shape(role.name), role.label)),
    el("p", { class: "role" }, roleLine(kind, index)),
    map
      ? lineDiagram(map, role.name, `${title} on an example sentence: what each token attends to. Up and down arrows move.`)
      : el("p", { class: "caption" }, "This run kept no example sentence for this head."),
    strips(kind, index),
    el("p", { class: "caption" }, "Grey: every head, taller where several fall together. Dashed: uniform attention. Bar: 95% interval. Point at a token to see its attention alone."),
  );
  box.dataset.head = `${kind.kind} ${index}`;
}
