// The heads of a layer as switches in their colors: click switches one, shift-click shows it alone.
import { el } from "../core/dom.js";
import { headColor, headDash } from "../core/colors.js";
import { headLabels } from "./embedded_source.js";

const TITLE = "Click to switch, shift-click or double-click to show it alone";

export class HeadChips {
  // `onPick(heads, mean)`: the labels of the heads that are on.
  constructor(onPick) {
    this.onPick = onPick;
    this.roving = 0;
    this.row = el("div", { class: "hs-chips", role: "group", "aria-label": "Heads; arrow keys move, Enter switches, Shift and Enter shows one alone", onkeydown: (event) => this.key(event) });
    this.all = el("button", { type: "button", class: "hs-plain", onclick: () => this.onPick(this.labels, false) }, "all");
    this.none = el("button", { type: "button", class: "hs-plain", onclick: () => this.onPick([], false) }, "none");
    this.mean = el("input", { type: "checkbox", onchange: () => this.onPick(this.on, this.mean.checked) });
    this.element = el("div", { class: "hs-field hs-heads" }, el("span", {}, "Heads"), this.row, this.all, this.none, el("label", {}, this.mean, el("span", {}, "mean")));
  }

  show(kind, heads, mean, theme) {
    this.labels = headLabels(kind);
    this.on = heads;
    if (this.row.children.length !== this.labels.length || this.kind !== kind) {
      this.kind = kind;
      this.row.replaceChildren(...this.labels.map((label, place) => this.chip(label, place)));
    }
    [...this.row.children].forEach((chip, place) => {
      const on = heads.includes(this.labels[place]);
      chip.setAttribute("aria-pressed", String(on));
      chip.style.setProperty("--hs-color", mean ? theme.ink : headColor(place, theme.scheme));
      chip.style.setProperty("--hs-edge", headDash(place).length && !mean ? "dashed" : "solid");
      chip.tabIndex = place === Math.min(this.roving, this.labels.length - 1) ? 0 : -1;
    });
    this.mean.checked = mean;
    this.all.disabled = heads.length === this.labels.length && !mean;
    this.none.disabled = heads.length === 0;
  }

  chip(label, place) {
    const click = (event) => this.pick(place, event.shiftKey);
    return el("button", { type: "button", title: TITLE, "aria-label": `Head ${label}`, onclick: click, ondblclick: () => this.pick(place, true) }, el("i", { "aria-hidden": "true" }), String(label));
  }

  pick(place, alone) {
    const label = this.labels[place];
    this.roving = place;
    const only = this.on.length === 1 && this.on[0] === label;
    // The mean of all heads is where one begins: from there a click shows a head.
    const begun = this.mean.checked && this.on.length === this.labels.length;
    if (alone || begun) this.onPick(only ? this.labels : [label], false);
    else this.onPick(this.labels.filter((one) => (one === label ? !this.on.includes(one) : this.on.includes(one))));
  }

  key(event) {
    const chips = [...this.row.children];
    const at = chips.indexOf(event.target);
    const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: chips.length - 1 }[event.key];
    if (at < 0) return;
    if (event.key === "Enter" && event.shiftKey) this.pick(at, true);
    else if (to !== undefined) {
      chips[at].tabIndex = -1;
      this.roving = Math.min(chips.length - 1, Math.max(0, to));
      chips[this.roving].tabIndex = 0;
      chips[this.roving].focus();
    } else return;
    event.preventDefault();
  }
}
