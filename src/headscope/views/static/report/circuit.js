// The circuit map: arcs on a head grid, from each head to the heads below that it draws. Solid: on the key side; dashed: on the
// query side. Pointing at a head shows only its arcs, and names them; a slider sets the smallest share that is drawn.
import { el, svg } from "../core/dom.js";
import { headNumber, kindNamed } from "./data.js";
import { HeadGrid } from "./grid.js";

const MOST_AT_FIRST = 30;
const MOST_NAMED = 8;
const DENSE = 20;
const WIDEST = 8; // pixels of an arc of the whole pull
const WIDEST_IF_DENSE = 5;
const NARROWEST = 1.5;
const DOT = 5;
const HALO = 3;
const MANY_LAYERS = 8;
const BEND = { key: [0.65, 0.25], query: [0.25, 0.65] }; // how steeply arcs leave and enter: those of a side run side by side
const FAN = 0.3; // of a column: arcs to heads further aside leave further from the middle of their source
const PORT = { key: -0.22, query: 0.22 }; // of a column, from the middle of the drawn head to where arcs enter it

const whole = (share) => `${Math.round(100 * share)}`.replace("-", "−");

function nameOf(kind, { source, drawn, side, share, low, high }) {
  const ends = low === null ? "" : ` (${whole(low)} to ${whole(high)})`;
  return `${headNumber(kind, source)} → ${headNumber(kind, drawn)}, ${side} side, ${whole(share)}%${ends}`;
}

// The room above and below a cell, of its width: less where many layers need it. The style keeps it free.
const roomOf = ({ layers }) => (layers > MANY_LAYERS ? 0.25 : 0.4);

// In columns and rows: out of the lower edge of the source, into the upper edge of the drawn head.
function pathOf(kind, { source, drawn, side }) {
  const { heads } = kind;
  const edge = 0.5 / (1 + 2 * roomOf(kind));
  const aside = (drawn % heads) - (source % heads);
  const [x, y] = [(source % heads) + 0.5 + (FAN * aside) / heads, Math.floor(source / heads) + 0.5 + 0.96 * edge];
  const [toX, toY] = [(drawn % heads) + 0.5 + PORT[side], Math.floor(drawn / heads) + 0.5 - 1.08 * edge];
  const [leave, enter] = BEND[side].map((steepness) => steepness * (toY - y));
  return { d: `M${x} ${y}C${x} ${y + leave} ${toX} ${toY - enter} ${toX} ${toY}`, end: `M${toX} ${toY}h0` };
}

// An arc on a rim of the page's color, so that it can be followed over cells and other arcs; a dot at the head that it draws.
function drawArc(kind, arc) {
  const { d, end } = pathOf(kind, arc);
  const size = Math.max(NARROWEST, (kind.heads > DENSE ? WIDEST_IF_DENSE : WIDEST) * Math.min(1, arc.share));
  const line = (name, path, width) => svg("path", { class: name, d: path, "stroke-width": width.toFixed(1) });
  const dot = Math.max(DOT, size + 1);
  return svg("g", { class: `circuit-arc ${arc.side}`, "data-arc": `${arc.source} ${arc.drawn}`, opacity: (0.45 + 0.55 * Math.min(1, arc.share)).toFixed(2) }, line("rim", d, size + HALO), line("line", d, size), line("rim dot", end, dot + HALO), line("dot", end, dot));
}

// The smallest share, in percent, that leaves at most this number of arcs; the largest arcs are always drawn.
function firstLeast(shares, most = MOST_AT_FIRST) {
  const sorted = [...shares].sort((a, b) => b - a);
  const [top, last] = [sorted[0], sorted.at(-1)].map((share) => Math.floor(100 * share));
  return sorted.length > most ? Math.min(Math.floor(100 * sorted[most]) + 1, top) : last;
}

export class CircuitMap {
  // `grid`: the head grid that arcs are drawn on; `box`: an element for the slider and the key.
  constructor(grid, box) {
    this.grid = grid;
    this.input = el("input", { type: "range", min: 0, max: 100, step: 1, oninput: () => this.paint() });
    this.output = el("output", {});
    this.tip = el("div", { class: "tip circuit-tip", role: "tooltip", hidden: true });
    document.querySelector("main").append(this.tip); // in a landmark
    const key = (side, text) => el("span", { class: "circuit-key" }, svg("svg", { class: `circuit-arc ${side}`, viewBox: "0 0 34 10", "aria-hidden": "true" }, svg("path", { class: "line", d: "M1 5H28", "stroke-width": 4 }), svg("path", { class: "dot", d: "M28 5h0", "stroke-width": 8 })), text);
    const meaning = "An arc leads from a head to a head of a later layer that it draws; its width is its share of the pull.";
    box.classList.add("circuit-bar");
    box.replaceChildren(el("label", {}, el("span", {}, "Smallest share"), this.input), this.output, key("key", "on the key side"), key("query", "on the query side"), el("p", { class: "caption" }, meaning));
    this.box = box;
  }

  // Draw the arcs of a kind, on the grid that has just been shown.
  show(kind) {
    this.kind = kind;
    this.at = null;
    const rows = (kind.circuit || []).map(([source, drawn, side, share, low, high]) => ({ source, drawn, side, share, low, high }));
    this.box.hidden = !rows.length;
    this.arcs = rows.map((arc) => ({ ...arc, mark: drawArc(kind, arc) }));
    if (!rows.length) return;
    const { grid } = this.grid;
    grid.classList.add("arced");
    grid.style.setProperty("--room", `${100 * roomOf(kind)}%`);
    // The widest lie on top.
    grid.append(svg("svg", { class: "circuit-arcs", viewBox: `0 0 ${kind.heads} ${kind.layers}`, preserveAspectRatio: "none", "aria-hidden": "true" }, this.arcs.map(({ mark }) => mark).reverse()));
    this.tip.id = `circuit-tip-${kind.kind}`;
    const hit = (event) => {
      const cell = event.target.closest("button[data-index]");
      if (cell) this.point(Number(cell.dataset.index));
    };
    const rest = () => this.point(this.focused());
    for (const [name, act] of Object.entries({ mouseover: hit, focusin: hit, mouseleave: rest, focusout: () => this.point(null) })) grid.addEventListener(name, act);
    grid.addEventListener("keydown", (event) => event.key === "Escape" && (this.tip.hidden = true));
    this.input.value = firstLeast(rows.map(({ share }) => share));
    this.paint();
  }

  // The head that the keyboard is on.
  focused() {
    const cell = this.grid.grid.querySelector("button:focus-visible");
    return cell ? Number(cell.dataset.index) : null;
  }

  paint() {
    const least = Number(this.input.value);
    const strong = this.arcs.filter(({ share }) => 100 * share >= least);
    const shown = strong.filter((arc) => this.touches(arc));
    for (const { mark } of this.arcs) mark.setAttribute("visibility", "hidden");
    for (const { mark } of shown) mark.setAttribute("visibility", "visible");
    this.output.textContent = `${strong.length} of ${this.arcs.length} arcs: ${least}% of the pull or more`;
    this.input.setAttribute("aria-valuetext", this.output.textContent);
    return shown;
  }

  touches({ source, drawn }) {
    return this.at === null || source === this.at || drawn === this.at;
  }

  // Show only the arcs of a head, and name them; of none, show all.
  point(index) {
    const before = this.at !== null && this.grid.cells[this.at];
    if (before) before.removeAttribute("aria-describedby");
    this.at = index;
    const shown = this.paint();
    const weak = this.arcs.filter((arc) => this.touches(arc)).length - shown.length;
    this.tip.hidden = index === null || !(shown.length + weak);
    if (this.tip.hidden) return;
    const names = shown.slice(0, MOST_NAMED).map((arc) => nameOf(this.kind, arc));
    if (shown.length > names.length) names.push(`and ${shown.length - names.length} more`);
    if (weak) names.push(`${weak} below ${this.input.value}%, not drawn`);
    this.tip.replaceChildren(...names.map((name) => el("div", {}, name)));
    this.grid.cells[index].setAttribute("aria-describedby", this.tip.id);
    this.place(this.grid.cells[index].getBoundingClientRect(), shown.some(({ drawn }) => drawn === index));
  }

  // Below a head that others draw, whose arcs come from above; else above it.
  place(cell, below) {
    const { offsetWidth, offsetHeight } = this.tip;
    const left = Math.min(Math.max(8, cell.left + cell.width / 2 - offsetWidth / 2), document.documentElement.clientWidth - offsetWidth - 8);
    this.tip.style.left = `${left + window.scrollX}px`;
    this.tip.style.top = `${(below ? cell.bottom + 6 : cell.top - offsetHeight - 6) + window.scrollY}px`;
  }
}

// A head grid with arcs in each box of the page that names a kind.
export function placeCircuits(root, onOpen) {
  for (const box of root.querySelectorAll(".circuit")) {
    const kind = kindNamed(box.dataset.kind);
    const [place, readout, bar] = [el("div", { class: "grid-box" }), el("p", { class: "readout" }), el("div")];
    box.replaceChildren(place, readout, bar);
    const grid = new HeadGrid(place, readout, (index) => onOpen({ kind, index }), { ids: false });
    grid.show(kind);
    new CircuitMap(grid, bar).show(kind);
  }
}
