// The head grid: a cell a head, layers as rows. Arrow keys move, Enter opens, hover and focus name the head.
import { el, shape } from "../core/dom.js";
import { anchorOf, cellOf, columnsOf, data, findsOf, headNumber, headTitle, lookOf, looks, ownLayer, statisticNamed } from "./data.js";
import { amount, lower } from "../core/format.js";
import { summaryOf } from "./head_fact.js";

// Color the grid by roles instead of attention targets.
export const BY_ROLE = "role";

// What a head is, in a line: "Head 1-3 · Previous token: 98% ...", or "Head 1-3 · entropy 0.30 nats · Previous token".
export function describe(kind, index, statistic) {
  const [name, rest] = summaryOf(kind, index);
  const cell = statistic && cellOf(kind, statistic, index);
  const others = findsOf(kind, index).map((one) => one.name).filter((each) => name !== `Finds ${each}`);
  if (!cell) return `${headTitle(kind, index)} · ${name}${rest}${others.length ? ` · finds ${others.join(", ")}` : ""}`;
  const { label, share, unit } = statisticNamed(statistic);
  return `${headTitle(kind, index)} · ${lower(label)} ${amount(cell.value, share, unit)} · ${name}`;
}

// What a head finds, as it fits into a cell: "obj", "poss" for nmod:poss, "case+". Cut off as it is, it is drawn by the
// style alone: who hears the page hears the whole name.
function briefly(kind, index, role) {
  const names = findsOf(kind, index).filter((one) => one.role === role).map((one) => one.name);
  const [first] = names;
  const short = first === "coreference" ? "coref" : first.split(":").at(-1).slice(0, 5);
  return names.length > 1 ? `${short.slice(0, 4)}+` : short;
}

// A cell has its full color from this explained share up, and at least so much of it.
const FULL = 0.75;
const LEAST_STRENGTH = 0.4;

export class HeadGrid {
  // `ids`: whether cells carry their heads' anchors, so that an address scrolls to them.
  constructor(box, readout, onOpen, { ids = true } = {}) {
    this.box = box;
    this.readout = readout;
    this.onOpen = onOpen;
    this.ids = ids;
    this.colorBy = null; // a statistic, or BY_ROLE; by default attention targets
    this.role = null;
    this.keep = null; // of a place: whether that head stays bright, where something else narrows the heads
    this.cells = [];
    this.opened = null;
    this.second = null;
    this.lit = null; // a share for each head, while a token is pointed at
  }

  show(kind) {
    this.lit = null;
    this.kind = kind;
    this.opened = null;
    this.second = null;
    this.cells = [];
    const corner = el("span", { class: "axis", "aria-hidden": "true" });
    const every = kind.heads > 24 ? 4 : 1;
    const number = (h) => (h === 0 || (h + 1) % every === 0 ? `${h + 1}` : "");
    const top = [...Array(kind.heads).keys()].map((h) => el("span", { class: "axis", "aria-hidden": "true" }, number(h)));
    const rows = [];
    for (let layer = 0; layer < kind.layers; layer++) {
      const cells = [];
      for (let head = 0; head < kind.heads; head++) cells.push(this.cell(layer * kind.heads + head));
      this.cells.push(...cells);
      rows.push(el("div", { role: "row" }, el("span", { class: "axis", "aria-hidden": "true", title: ownLayer(kind, layer) || null }, `${layer + 1}`), cells));
    }
    const label = `${kind.layers} layers of ${kind.heads} heads; arrow keys move, Enter opens a head's card`;
    this.grid = el(
      "div",
      {
        class: kind.heads > 20 ? "grid dense" : "grid",
        role: "grid",
        "aria-label": label,
        style: `--columns:${kind.heads};--rows:${kind.layers}`,
        onkeydown: (event) => this.move(event),
        onclick: (event) => this.hit(event, (index) => this.onOpen(index)),
        onmouseover: (event) => this.hit(event, (index) => this.name(index)),
        onfocusin: (event) => this.hit(event, (index) => this.name(index)),
        onmouseleave: () => this.name(this.opened),
      },
      el("div", { class: "heads-axis", "aria-hidden": "true" }, corner, top),
      rows,
    );
    this.box.replaceChildren(el("p", { class: "axis-name", "aria-hidden": "true" }, "layer ↓  head →"), this.grid);
    this.paint();
    this.rove(0);
  }

  cell(index) {
    const { kind } = this;
    return el("button", { type: "button", role: "gridcell", id: this.ids ? anchorOf(kind, index) : null, tabindex: "-1", "data-index": index, "data-name": headNumber(kind, index) });
  }

  // The statistic that colors heads, if one does.
  get statistic() {
    return this.colorBy === BY_ROLE ? null : this.colorBy;
  }

  // The categories that color heads, and that of a head.
  get categories() {
    return this.colorBy === BY_ROLE ? data.roles : looks;
  }

  categoryOf(index) {
    return this.colorBy === BY_ROLE ? data.roles[this.kind.roles[index]] : lookOf(this.kind, index);
  }

  // Color by attention targets, or by the value of a statistic.
  paint() {
    const { kind, statistic } = this;
    const explained = this.colorBy === null && kind.looks ? kind.explained : null;
    const columns = statistic && columnsOf(kind, statistic);
    const top = columns ? Math.max(...columns.value.filter((value) => value !== null), 1e-9) : 1;
    this.cells.forEach((button, index) => {
      const role = this.categoryOf(index);
      const cell = statistic && cellOf(kind, statistic, index);
      const marks = [...new Set(findsOf(kind, index).map((one) => one.role))];
      const off = (this.role !== null && this.role !== role.name && !marks.includes(this.role)) || (this.keep !== null && !this.keep(index));
      const share = explained ? explained[index] ?? 0 : 1;
      const hatched = explained && role.name === "mixed";
      button.className = `${statistic ? "amount" : `role-${role.name}`}${hatched ? " hatched" : share < FULL ? " pale" : ""}${off ? " off" : ""}`;
      button.style.setProperty("--strength", `${Math.round(100 * Math.min(1, Math.max(LEAST_STRENGTH, share / FULL)))}%`);
      button.style.setProperty("--amount", cell ? `${Math.round((100 * cell.value) / top)}%` : "0%");
      button.setAttribute("aria-label", describe(kind, index, statistic));
      const found = marks.map((name) => el("span", { class: `found role-${name}` }, shape(name), el("span", { class: "found-name", "data-brief": briefly(kind, index, name) })));
      const foot = explained ? [el("i", { class: "sink", style: `--sink:${Math.round(100 * (kind.sink[index] ?? 0))}%` })] : [];
      button.replaceChildren(...(statistic ? [] : [shape(role.name), ...found, ...foot]));
    });
    this.name(this.opened);
    if (this.lit) this.light(this.lit);
    return top;
  }

  // Light the cells by a share for each head, null for one that has none; without shares they are as they were.
  light(shares) {
    const before = this.lit;
    this.lit = shares;
    if (!shares) {
      if (before) this.paint();
      return;
    }
    const top = Math.max(...shares.filter((share) => share !== null), 1e-9);
    this.cells.forEach((button, index) => {
      button.className = "amount";
      button.style.setProperty("--amount", `${Math.round((100 * (shares[index] ?? 0)) / top)}%`);
      button.replaceChildren();
    });
  }

  // Mark the opened head, and the one that it is compared with.
  open(index, second = null) {
    for (const place of [this.opened, this.second]) if (place !== null) this.cells[place].removeAttribute("aria-selected");
    [this.opened, this.second] = [index, second ?? null];
    for (const place of [this.opened, this.second]) if (place !== null) this.cells[place].setAttribute("aria-selected", "true");
    this.rove(index);
    this.name(index);
  }

  name(index) {
    this.readout.textContent = index === null ? "Point at a head to name it; click to open its card." : describe(this.kind, index, this.statistic);
  }

  hit(event, act) {
    const button = event.target.closest("button[data-index]");
    if (button) act(Number(button.dataset.index));
  }

  rove(index) {
    if (this.roving !== undefined && this.cells[this.roving]) this.cells[this.roving].tabIndex = -1;
    this.roving = index;
    this.cells[index].tabIndex = 0;
  }

  move(event) {
    const { heads, layers } = this.kind;
    const at = Number(event.target.dataset.index);
    if (Number.isNaN(at)) return;
    const [layer, head] = [Math.floor(at / heads), at % heads];
    const all = event.ctrlKey || event.metaKey;
    const to = {
      ArrowLeft: head > 0 ? at - 1 : at,
      ArrowRight: head < heads - 1 ? at + 1 : at,
      ArrowUp: layer > 0 ? at - heads : at,
      ArrowDown: layer < layers - 1 ? at + heads : at,
      Home: all ? 0 : layer * heads,
      End: all ? heads * layers - 1 : layer * heads + heads - 1,
      PageUp: head,
      PageDown: (layers - 1) * heads + head,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.rove(to);
    this.cells[to].focus();
  }
}

// Marks in a cell's corner, in addition to its role.
const FINDS = [
  { name: "syntax", label: "Finds a relation" },
  { name: "coreference", label: "Finds antecedents" },
];

// The key of the categories, each a switch that dims all others; with a statistic, the scale of its shading.
export function legend(box, grid) {
  const { kind, statistic } = grid;
  if (statistic) {
    const { label, share, unit } = statisticNamed(statistic);
    const columns = columnsOf(kind, statistic);
    const values = columns ? columns.value.filter((value) => value !== null) : [];
    const top = values.length ? Math.max(...values) : 0;
    const text = values.length ? `${label}: 0 to ${amount(top, share, unit)}` : `${label} cannot occur here`;
    box.replaceChildren(el("span", { class: "scale", "aria-hidden": "true" }), el("span", {}, text));
    return;
  }
  const count = {};
  kind.roles.forEach((_, index) => (count[grid.categoryOf(index).name] = (count[grid.categoryOf(index).name] || 0) + 1));
  const finding = Object.values(kind.finds || {}).map((finds) => new Set(finds.map((one) => one.role)));
  for (const { name } of FINDS) count[name] = finding.filter((roles) => roles.has(name)).length;
  box.replaceChildren(
    ...[...grid.categories, ...FINDS].map((role) =>
      count[role.name]
        ? el(
            "button",
            {
              type: "button",
              "aria-pressed": String(grid.role === role.name),
              class: `key role-${role.name}`,
              onclick: () => {
                grid.role = grid.role === role.name ? null : role.name;
                grid.paint();
                legend(box, grid);
                box.querySelector(`.role-${role.name}`).focus();
              },
            },
            el("i", {}, shape(role.name)),
            `${role.label} `,
            el("b", {}, String(count[role.name])),
          )
        : null,
    ).filter(Boolean),
    ...(grid.colorBy === null && kind.looks ? [el("span", { class: "look-key" }, "Color: what a head looks at, off the sink. Strength: how much of that is predicted. Hatched: less than a third. Bar below: attention on the sink.")] : []),
  );
}

