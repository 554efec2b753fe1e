// All heads of a kind by any two measures, colored by role or by a third: a point a head, which opens its card.
import { el, svg } from "../core/dom.js";
import { amount, lower } from "../core/format.js";
import { cellOf, columnsOf, data, headTitle, lookOf, statisticNamed } from "./data.js";
import { firstAxes, scaleOf } from "./scatter_scale.js";

const WIDTH = 640;
const HEIGHT = 380;
const EDGE = { left: 58, right: 14, top: 12, bottom: 44 };
const MANY = 400;
// Letters of an axis's name that fit on a phone, too.
const MOST_ACROSS = 56;
const MOST_UP = 34;
// What the axes have at first, where the run and the kind of attention have it.
const WANTED = { x: ["distribution.non_sink.decile_5"], y: ["distribution.output_norm.decile_5", "distribution.entropy.decile_5"] };

function topicsOf() {
  const topics = { "What it looks at": data.statistics, "How well it finds": data.relations || [] };
  for (const one of data.measures || []) (topics[one.topic] = topics[one.topic] || []).push(one);
  return Object.entries(topics).filter(([, measures]) => measures.length);
}

export class HeadScatter {
  constructor(box, onOpen) {
    this.onOpen = onOpen;
    this.keep = null;
    this.axes = { x: "", y: "", color: "" };
    this.selects = {};
    this.picked = false;
    this.picture = el("div");
    this.readout = el("p", { class: "readout" });
    this.key = el("p", { class: "caption" });
    const choice = (axis, label) => el("label", {}, `${label} `, this.select(axis));
    box.replaceChildren(el("div", { class: "scatter-choices" }, choice("x", "Across"), choice("y", "Up"), choice("color", "Color")), this.picture, this.key, this.readout);
  }

  select(axis) {
    const option = ({ name, label }) => el("option", { value: name }, label);
    const pick = (event) => {
      this.axes[axis] = event.target.value;
      this.picked = this.picked || axis !== "color";
      this.draw();
    };
    this.selects[axis] = el("select", { "data-axis": axis, onchange: pick }, axis === "color" ? el("option", { value: "" }, "role") : null, topicsOf().map(([label, measures]) => el("optgroup", { label }, measures.map(option))));
    return this.selects[axis];
  }

  // Another kind of attention may have other measures; the reader's choice stays.
  show(kind) {
    this.kind = kind;
    if (!this.picked) {
      const names = topicsOf().flatMap(([, each]) => each.map(({ name }) => name));
      Object.assign(this.axes, firstAxes(WANTED, names, (name) => this.values(name)));
      for (const axis of ["x", "y"]) this.selects[axis].value = this.axes[axis];
    }
    this.draw();
  }

  values(name) {
    const columns = columnsOf(this.kind, name);
    return columns && columns.value ? columns.value : this.kind.roles.map(() => null);
  }

  draw() {
    const { kind, axes } = this;
    const [across, up] = [this.values(axes.x), this.values(axes.y)];
    const both = kind.roles.map((_, index) => index).filter((index) => across[index] !== null && up[index] !== null);
    const [h, v] = [statisticNamed(axes.x), statisticNamed(axes.y)];
    if (!both.length) {
      this.points = [];
      this.picture.replaceChildren(el("p", { class: "caption" }, `No head has both ${lower(h.label)} and ${lower(v.label)}.`));
      this.tell(null);
      return;
    }
    const [sx, sy] = [scaleOf(both.map((index) => across[index]), h.share), scaleOf(both.map((index) => up[index]), v.share)];
    const x = (value) => EDGE.left + sx.place(value) * (WIDTH - EDGE.left - EDGE.right);
    const y = (value) => HEIGHT - EDGE.bottom - sy.place(value) * (HEIGHT - EDGE.top - EDGE.bottom);
    const third = axes.color && this.values(axes.color);
    const top = third ? Math.max(...third.filter((value) => value !== null), 1e-9) : 1;
    const color = third && statisticNamed(axes.color);
    const hollow = third && both.some((index) => third[index] === null);
    const strength = () => `Faint to strong: ${lower(color.label)} from 0 to ${amount(top, color.share, color.unit)}${hollow ? "; hollow: it cannot occur" : ""}.`;
    this.key.textContent = third ? strength() : "Colored as in the grid, by role.";
    this.points = both.map((index) => {
      const value = third ? third[index] : null;
      const known = value !== null;
      const style = third && known ? `--amount:${Math.round((100 * value) / top)}%` : null;
      const look = third ? (known ? "amount" : "hollow") : `role-${lookOf(kind, index).name}`;
      return svg("circle", {
        class: `scatter-point ${look}`,
        cx: x(across[index]).toFixed(1),
        cy: y(up[index]).toFixed(1),
        r: kind.roles.length > MANY ? 4 : 6,
        style,
        role: "button",
        tabindex: -1,
        "data-index": index,
        "aria-label": this.describe(index),
      });
    });
    const lines = [
      ...sx.ticks.map((tick) => [svg("path", { class: "scatter-line", d: `M${x(tick)} ${EDGE.top}V${HEIGHT - EDGE.bottom}` }), svg("text", { class: "scatter-tick", x: x(tick), y: HEIGHT - EDGE.bottom + 16, "text-anchor": "middle" }, sx.text(tick))]),
      ...sy.ticks.map((tick) => [svg("path", { class: "scatter-line", d: `M${EDGE.left} ${y(tick)}H${WIDTH - EDGE.right}` }), svg("text", { class: "scatter-tick", x: EDGE.left - 7, y: y(tick) + 4, "text-anchor": "end" }, sy.text(tick))]),
    ];
    // With its unit where there is room.
    const named = ({ label, share, unit }, most) => {
      const whole = `${label}${share ? "" : `, ${unit || "nats"}`}`;
      return whole.length > most ? label : whole;
    };
    const frame = svg(
      "svg",
      {
        class: "scatter",
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
        role: "group",
        "aria-label": `${both.length} heads by ${lower(h.label)} and ${lower(v.label)}. Arrow keys move from head to head, Enter opens a head's card`,
        onclick: (event) => this.hit(event, (index) => this.onOpen(kind, index)),
        onmouseover: (event) => this.hit(event, (index) => this.tell(index)),
        onfocusin: (event) => this.hit(event, (index) => this.tell(index)),
        onmouseleave: () => this.tell(null),
        onkeydown: (event) => this.pressed(event),
      },
      svg("g", { "aria-hidden": "true" }, lines, svg("text", { class: "scatter-name", x: (WIDTH + EDGE.left) / 2, y: HEIGHT - 8, "text-anchor": "middle" }, named(h, MOST_ACROSS)), svg("text", { class: "scatter-name", transform: `translate(13 ${(HEIGHT - EDGE.bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, named(v, MOST_UP))),
      this.points,
    );
    this.points[0].setAttribute("tabindex", 0);
    this.picture.replaceChildren(frame);
    this.paint();
    this.tell(null);
  }

  // Dim heads that do not match the search.
  paint() {
    for (const point of this.points || []) point.classList.toggle("off", Boolean(this.keep && !this.keep(Number(point.dataset.index))));
  }

  describe(index) {
    const { axes, kind } = this;
    const names = [...new Set([axes.x, axes.y, axes.color].filter(Boolean))];
    const said = names.map((name) => {
      const { label, share, unit } = statisticNamed(name);
      const cell = cellOf(kind, name, index);
      return cell ? `${lower(label)} ${amount(cell.value, share, unit)}` : `${lower(label)} cannot occur`;
    });
    return [headTitle(kind, index), ...said, lower(lookOf(kind, index).label)].join(" · ");
  }

  tell(index) {
    this.readout.textContent = index === null ? "Point at a head to name it; click to open its card." : this.describe(index);
  }

  hit(event, act) {
    const point = event.target.closest(".scatter-point");
    if (point) act(Number(point.dataset.index));
  }

  pressed(event) {
    const at = this.points.indexOf(event.target);
    if (at < 0) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.onOpen(this.kind, Number(event.target.dataset.index));
      return;
    }
    const last = this.points.length - 1;
    const to = { ArrowRight: Math.min(last, at + 1), ArrowDown: Math.min(last, at + 1), ArrowLeft: Math.max(0, at - 1), ArrowUp: Math.max(0, at - 1), Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.points[at].setAttribute("tabindex", -1);
    this.points[to].setAttribute("tabindex", 0);
    this.points[to].focus();
  }
}
