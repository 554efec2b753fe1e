// The head view: tokens left and right, lines by weight, heads in colors; one token's attention alone on hover.
import { el } from "../../core/dom.js";
import { edgesOf } from "./edges.js";
import { colored, placeOfToken, tellHidden, tokenAt } from "../frame.js";
import { focusOf, headScene, paintEdges, paintFocus } from "./head_scene.js";
import { columnWidths, rowStep, WIDEST } from "./layout.js";
import { LineTiles } from "./line_tiles.js";
import { sinkNames } from "../filters.js";
import { measureText } from "../../core/picture.js";
import { percent } from "../../core/format.js";
import { tellAttention, tellHeads, toldToken } from "../telling.js";
import { TokenColumn } from "./token_column.js";
import { ScoreSources } from "./score_sources.js";
import { TwoSteps } from "./two_steps.js";

// Space between a label and the ends of its lines.
const LINE_GAP = 8;
// Number of input tokens above the first generated one.
const LINES_BEFORE = 3;

export const VIEW = {
  name: "head",
  label: "Head view",
  call: "head_view",
  heads: "several",
  needs: "weights",
  level: "any",
  element: (host, store, options) => new HeadView(host, store, options),
};

export class HeadView {
  constructor(host, store, { among = false } = {}) {
    this.host = host;
    this.tiles = new LineTiles(() => this.frame.theme[among ? "card" : "paper"]);
    this.columns = {
      query: new TokenColumn("query", "Attending tokens (queries)", this.handlers("query")),
      key: new TokenColumn("key", "Attended tokens (keys)", this.handlers("key")),
    };
    this.ends = el("div", { class: "hs-ends", "aria-hidden": "true" }, el("span", {}, "attends"), el("span", {}, "is attended to"));
    this.body = el("div", { class: "hs-columns" }, this.columns.query.list, this.tiles.box, this.columns.key.list);
    this.scroll = el("div", { class: "hs-scroll", onscroll: () => this.reveal() }, this.body);
    this.count = el("p", { class: "hs-count" });
    // Only a server can ask the model for the sources of a score.
    this.below = store?.source?.score ? new ScoreSources(store) : new TwoSteps(host, store);
    this.readout = el("p", { class: "hs-readout" });
    this.element = el("section", { class: "hs-head", "aria-label": "Head view" }, this.readout, el("div", { class: "hs-beside" }, el("div", {}, this.ends, this.scroll, this.count), this.below.element));
    this.pointed = this.focused = null;
    this.sizes = new ResizeObserver(() => this.frame && this.place());
    this.sizes.observe(this.element);
  }

  handlers(side) {
    return {
      point: (place) => this.point("pointed", side, place),
      focus: (place) => this.point("focused", side, place),
      pick: (place) => this.pick(side, place),
      cross: (place) => this.columns[side === "query" ? "key" : "query"].focus(place),
      leave: () => this.leave(),
    };
  }

  show(frame) {
    this.frame = frame;
    this.edges = edgesOf(frame.weights, frame.heads, frame.shown.query, frame.shown.key, frame.state.least, frame.state.faint && frame.sinks.key.size ? frame.sinks : null);
    this.pointed = null;
    for (const side of ["query", "key"]) {
      const { generated, special, unknown } = frame.units[side];
      const places = Array.from(frame.shown[side]);
      const among = (units) => new Set(places.map((unit, place) => (units.has(unit) ? place : -1)).filter((place) => place >= 0));
      const first = generated === null ? null : places.findIndex((unit) => unit >= generated);
      if (side === "query") this.firstGenerated = first;
      this.columns[side].show(frame.labels[side], {
        generated: first,
        special: among(special),
        unknown: among(unknown),
      });
    }
    const pinned = placeOfToken(frame, frame.state.token);
    this.pinned = pinned < 0 ? null : { side: frame.state.token.side, place: pinned };
    for (const side of ["query", "key"]) this.columns[side].pin(this.pinned && this.pinned.side === side ? this.pinned.place : null);
    this.longest = Math.max(0, ...[...frame.labels.query, ...frame.labels.key].map((label) => measureText(label.slice(0, 80), 14, true)));
    this.place();
    return this.below.show(frame, this.pinned);
  }

  // Lay out for the present width, and draw.
  place() {
    const { frame } = this;
    const rows = Math.max(frame.shown.query.length, frame.shown.key.length);
    this.step = rowStep(rows);
    const wide = this.element.clientWidth;
    // Nothing is laid out while the view is not to be seen.
    if (!wide || (wide === this.wide && frame === this.placed)) return;
    [this.wide, this.placed] = [wide, frame];
    this.widths = columnWidths(Math.min(wide - 16, WIDEST), this.longest + 2 * LINE_GAP);
    const { share, label, lines, width } = this.widths;
    this.element.style.setProperty("--hs-step", `${this.step}px`);
    this.element.style.setProperty("--hs-share", `${share}px`);
    this.element.style.setProperty("--hs-label", `${label}px`);
    this.element.style.setProperty("--hs-middle", `${lines}px`);
    this.body.style.width = this.ends.style.width = `${width}px`;
    this.tiles.resize(lines, rows * this.step);
    const looks = colored(frame.looks, frame.theme);
    this.tiles.show((surface, span) => paintEdges(surface, this.edges, looks, { step: this.step, x0: LINE_GAP, x1: lines - LINE_GAP, ...span }));
    this.refresh();
    this.begin();
  }

  // If the model generated text, the page opens where it begins.
  begin() {
    if (this.begun) return;
    this.begun = true;
    const first = this.firstGenerated;
    if (first !== null && !this.pinned && (first + LINES_BEFORE) * this.step > this.scroll.clientHeight) this.scroll.scrollTop = (first - LINES_BEFORE) * this.step;
  }

  point(how, side, place) {
    const now = place === null ? null : { side, place };
    if (how === "focused" && now) this.host.say(this.tell(focusOf(this.frame, side, place)));
    if (sameSpot(this[how], now)) return;
    this[how] = now;
    this.refresh();
  }

  pick(side, place) {
    const token = sameSpot(this.pinned, { side, place }) ? null : tokenAt(this.frame, side, place);
    this.host.pick(token);
  }

  leave() {
    const shown = Boolean(this.pinned || this.focused);
    this.focused = null;
    if (this.pinned) this.host.pick(null);
    else this.refresh();
    return shown;
  }

  // The token to show alone: under the pointer, else focused, else pinned.
  refresh() {
    const { frame } = this;
    // Read before anything is written, so that the page is not laid out twice.
    const view = this.inView();
    const spot = this.pointed || this.focused || this.pinned;
    this.focus = spot && frame.heads.length ? focusOf(frame, spot.side, spot.place) : null;
    const { focus } = this;
    const looks = colored(frame.looks, frame.theme);
    const least = frame.state.least;
    this.tiles.isolate(focus && ((surface, span) => paintFocus(surface, focus, looks, { step: this.step, x0: LINE_GAP, x1: this.widths.lines - LINE_GAP, least, ...span })));
    for (const side of ["query", "key"]) {
      const own = focus && focus.side === side ? focus.place : null;
      this.columns[side].isolate(own, focus && focus.other === side ? focus.drawn : null, focus && focus.mean, view);
    }
    this.readout.replaceChildren(...this.words());
    this.count.textContent = this.counted();
  }

  // The rows that can be seen, and a few around them.
  inView() {
    const { scrollTop, clientHeight } = this.scroll;
    return [Math.max(0, Math.floor(scrollTop / this.step) - 8), Math.ceil((scrollTop + clientHeight) / this.step) + 8];
  }

  reveal() {
    if (this.focus) this.columns[this.focus.other].reveal(this.inView());
  }

  tell(focus) {
    const { labels, state, kind } = this.frame;
    const words = tellAttention(focus.side, labels[focus.side][focus.place], focus.mean, labels[focus.other]);
    const heads = tellHeads(state.heads, kind.heads, { mean: state.heads.length > 1 });
    return `${words}. Layer ${state.layer}, ${heads}.`;
  }

  words() {
    const { focus, frame } = this;
    if (!frame.heads.length) return ["No head is on: switch one on above."];
    if (!focus) return ["Point at a token to see its attention alone; click to keep it."];
    const parts = [this.tell(focus)];
    const rest = focus.side === "query" ? 1 - focus.mean.reduce((sum, weight) => sum + weight, 0) : 0;
    if (rest > 0.005) parts.push(` ${percent(rest)} goes to tokens that are hidden.`);
    if (!this.pointed && this.pinned) parts.push(...this.jumps(focus));
    return parts;
  }

  // A link to a pinned token's strongest partners, if they are out of view.
  jumps(focus) {
    const { scrollTop, clientHeight } = this.scroll;
    const out = (place) => place * this.step + this.step > scrollTop + clientHeight || place * this.step < scrollTop;
    const places = Array.from(focus.mean.keys()).filter((place) => focus.drawn[place] && out(place));
    places.sort((a, b) => focus.mean[b] - focus.mean[a]);
    if (!places.length) return [];
    const button = (place) =>
      el("button", { type: "button", class: "hs-jump", onclick: () => this.columns[focus.other].focus(place) }, `${place * this.step < scrollTop ? "↑" : "↓"} ${toldToken(this.frame.labels[focus.other][place])} ${percent(focus.mean[place])}`);
    return [" Out of view: ", ...places.slice(0, 4).flatMap((place) => [button(place), " "])];
  }

  counted() {
    const { frame, edges, focus } = this;
    const number = (count) => count.toLocaleString("en");
    const lines = `${number(edges.count)} ${edges.count === 1 ? "line" : "lines"}: every weight of ${frame.state.least} or more`;
    const shown = focus ? `${number(focus.lines)} of ${lines}` : lines;
    const faint = !focus && edges.tiers === 2 ? `; those of ${sinkNames(frame.kind)} are drawn faintly` : "";
    const numbers = focus && frame.heads.length > 1 ? "; numbers are means over the heads that are on" : "";
    return `${shown}${faint}${numbers}.`;
  }

  caption() {
    const { state, kind } = this.frame;
    const hidden = tellHidden(this.frame);
    return [`Layer ${state.layer}`, tellHeads(state.heads, kind.heads, { mean: state.mean }), hidden].filter(Boolean).join(" · ");
  }

  scene() {
    const pinned = this.pinned && this.frame.heads.length ? focusOf(this.frame, this.pinned.side, this.pinned.place) : null;
    return headScene(this.frame, this.edges, this.widths, this.step, pinned, this.caption());
  }

  destroy() {
    this.sizes.disconnect();
    this.tiles.destroy();
  }
}

function sameSpot(one, other) {
  return one === other || (one && other && one.side === other.side && one.place === other.place);
}
