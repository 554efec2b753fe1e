// One head grid, or two side by side: a cell a head, dark where it changed much, framed where it is shown to have changed (or, in other models, to match).
import { el } from "../core/dom.js";

// A divergence with two digits that count: "0.0084", "0.31".
export const nats = (value) => (value < 0.1 ? `${Number(value.toPrecision(2))}` : value.toFixed(2));
export const numberOf = ([, heads], index) => `${Math.floor(index / heads) + 1}-${(index % heads) + 1}`;

// The buttons that choose a kind of attention, where there are several; `show` gets the kind.
export function kindButtons(box, kinds, show) {
  const mark = (kind) => [...box.children].forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.kind === kind.kind)));
  const choose = (kind) => {
    show(kind);
    mark(kind);
  };
  if (kinds.length > 1) box.append(...kinds.map((kind) => el("button", { type: "button", "data-kind": kind.kind, onclick: () => choose(kind) }, kind.label)));
  return choose;
}

export class PairGrids {
  // `boxes`: elements of the two grids. `onOpen` gets the opened pair.
  constructor(boxes, readout, onOpen) {
    this.boxes = boxes;
    this.readout = readout;
    this.onOpen = onOpen;
    this.opened = null;
  }

  show(kind) {
    this.kind = kind;
    this.opened = this.lit = null;
    this.sides = ["first", "second"].slice(0, this.boxes.length);
    this.cells = this.sides.map((side, which) => this.grid(side, which));
    this.open(kind.pairs[0]);
  }

  // Color the cells by how much their pairs differ; `top` has the full color.
  paint(top) {
    for (const pair of this.kind.pairs) {
      for (const [which, side] of this.sides.entries()) {
        const cell = this.cells[which][pair[side]];
        cell.className = `amount${pair.framed ? " changed" : ""}`;
        cell.style.setProperty("--amount", `${Math.round((100 * pair.change) / top)}%`);
        cell.setAttribute("aria-label", this.described(pair));
      }
    }
    this.name(this.opened);
  }

  grid(side, which) {
    const { kind } = this;
    const [layers, heads] = kind[side];
    const pairs = new Map(kind.pairs.map((pair) => [pair[side], pair]));
    const axis = (text) => el("span", { class: "axis", "aria-hidden": "true" }, text);
    const cells = [...Array(layers * heads).keys()].map((index) => this.cell(side, index, pairs.get(index)));
    const rows = [...Array(layers).keys()].map((layer) => el("div", { role: "row" }, axis(`${layer + 1}`), cells.slice(layer * heads, (layer + 1) * heads)));
    const every = heads > 24 ? 4 : 1;
    const numbers = [...Array(heads).keys()].map((head) => axis(head === 0 || (head + 1) % every === 0 ? `${head + 1}` : ""));
    const grid = el(
      "div",
      {
        class: heads > 20 ? "grid dense" : "grid",
        role: "grid",
        "aria-label": `${this.sides.length > 1 ? `Model ${"AB"[which]}: ` : ""}${layers} layers of ${heads} heads; arrow keys move, Enter opens a card`,
        style: `--columns:${heads};--rows:${layers}`,
        onkeydown: (event) => this.move(event, which, heads),
        onmouseleave: () => this.name(this.opened),
      },
      el("div", { class: "heads-axis", "aria-hidden": "true" }, axis(""), numbers),
      rows,
    );
    cells[0].tabIndex = 0;
    this.boxes[which].replaceChildren(el("p", { class: "axis-name", "aria-hidden": "true" }, "layer ↓  head →"), grid);
    return cells;
  }

  cell(side, index, pair) {
    const name = numberOf(this.kind[side], index);
    const told = pair ? null : `Head ${name}: no partner`;
    const act = pair ? { onclick: () => this.open(pair, true), onmouseover: () => this.name(pair), onfocus: () => this.name(pair) } : { onfocus: () => (this.readout.textContent = told) };
    const id = side === "first" ? `${this.kind.kind}-${name}` : null;
    return el("button", { type: "button", role: "gridcell", id, tabindex: "-1", class: "off", "data-index": index, "aria-label": told, ...act });
  }

  described(pair) {
    const { kind } = this;
    return `Head ${numberOf(kind.first, pair.first)} of A and ${numberOf(kind.second, pair.second)} of B: ${nats(pair.change)} nats apart, ${pair.verdict}`;
  }

  mark(pair, attribute, value) {
    if (!pair) return;
    for (const [which, side] of this.sides.entries()) {
      const cell = this.cells[which][pair[side]];
      if (value) cell.setAttribute(attribute, value);
      else cell.removeAttribute(attribute);
    }
  }

  // Name a pair below the grids, and light both of its cells.
  name(pair) {
    this.mark(this.lit, "data-lit", null);
    this.lit = pair;
    this.mark(pair, "data-lit", "yes");
    if (pair) this.readout.textContent = this.described(pair);
  }

  open(pair, reveal = false) {
    this.mark(this.opened, "aria-selected", null);
    this.opened = pair;
    this.mark(pair, "aria-selected", "true");
    this.name(pair);
    this.onOpen(pair, reveal);
  }

  move(event, which, heads) {
    const cells = this.cells[which];
    const at = Number(event.target.dataset.index);
    const head = at % heads;
    const steps = { ArrowLeft: head > 0 ? -1 : 0, ArrowRight: head < heads - 1 ? 1 : 0, ArrowUp: -heads, ArrowDown: heads, Home: -head, End: heads - 1 - head };
    const next = cells[at + steps[event.key]];
    if (!next) return;
    event.preventDefault();
    cells[at].tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }
}
