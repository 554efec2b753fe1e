// One input's attention in views that share one state. Several may live in one document.
import { Announcer } from "../core/announcer.js";
import { AttentionStore } from "./attention_store.js";
import { tellUnknown } from "./axis.js";
import { copyText } from "../core/clipboard.js";
import { el } from "../core/dom.js";
import { figureCode } from "./figure_code.js";
import { frameOf, framed } from "./frame.js";
import { OFFERED, viewNamed, VIEWS } from "./list.js";
import { headLabels } from "./embedded_source.js";
import { fileName, saveScene } from "../core/picture.js";
import { readState, settle, writeState } from "./state_link.js";
import { themeOf } from "../core/theme.js";
import { Toolbar } from "./toolbar.js";

let mounted = 0;
// How long a layer may take before the view says that it waits.
const PATIENCE = 150;

// `root`: an element or a shadow root. `state`: parts of a state, or an address's part behind `#`.
// `onState(state, hash)` hears of every change. `host`: {scheme: "light" | "dark" where the page does not say,
// address(hash): a link to share, call: the arguments of the Python call that made the view, views: names of those to
// offer}; without an address or a call there is no button to copy one.
export function mountAttention(root, { source, state = {}, onState = () => {}, host = {} }) {
  const app = new AttentionApp(root, source, onState, host);
  app.show(state);
  return {
    destroy: () => app.destroy(),
    state: () => app.state,
    show: (parts) => app.show(parts),
    ready: () => app.drawn,
    hash: () => app.hash(),
    trouble: () => (app.trouble.hidden ? "" : app.trouble.textContent),
    scene: () => app.scene(),
  };
}

class AttentionApp {
  constructor(root, source, onState, host) {
    this.payload = source.payload;
    this.store = new AttentionStore(source);
    this.onState = onState;
    this.host = host;
    this.offered = VIEWS.filter(({ name }) => (host.views || OFFERED).includes(name));
    this.views = {};
    this.turn = 0;
    const prefix = `hs${++mounted}`;
    const actions = { save: (format) => this.save(format), copyLink: host.address ? () => this.copyLink() : null, copyCode: host.call ? () => this.copyCode() : null };
    this.toolbar = new Toolbar({ set: (parts) => this.set(parts), actions, prefix, panel: `${prefix}-panel`, views: this.offered });
    this.unknown = el("p", { class: "hs-unknown-note" }, tellUnknown(this.payload.kinds));
    this.unknown.hidden = !this.unknown.textContent;
    this.trouble = el("p", { class: "hs-trouble", role: "alert", hidden: true });
    this.waiting = el("p", { class: "hs-waiting", hidden: true }, "Loading the layer…");
    this.panel = el("div", { class: "hs-panel-view", role: "tabpanel", id: `${prefix}-panel`, tabindex: -1 }, this.waiting);
    const error = this.payload.largest_error;
    const exact = typeof error === "number" ? `Weights are stored in one byte each: they differ from the model's by ${Number(error.toPrecision(2))} at most.` : "";
    this.element = el("div", { class: "hs-attention" }, this.toolbar.element, this.unknown, this.trouble, this.panel, el("p", { class: "hs-exact" }, exact));
    this.announcer = new Announcer(this.element);
    root.append(this.element);
    this.listen();
    this.dress();
  }

  // Listeners on the window end with the view.
  listen() {
    this.ended = new AbortController();
    const { signal } = this.ended;
    this.dark = window.matchMedia("(prefers-color-scheme: dark)");
    this.dark.addEventListener("change", () => this.redress(), { signal });
    const print = (on) => () => {
      this.printing = on;
      this.redress();
    };
    window.addEventListener("beforeprint", print(true), { signal });
    window.addEventListener("afterprint", print(false), { signal });
  }

  redress() {
    this.dress();
    if (this.state) this.refresh();
  }

  // The theme's colors, on the view's own element: it needs no style sheet around it.
  dress() {
    const dark = this.host.scheme ? this.host.scheme === "dark" : this.dark.matches;
    this.theme = themeOf(dark && !this.printing ? "dark" : "light");
    for (const name of ["ink", "soft", "line", "paper", "card", "tick", "shade", "generated"]) this.element.style.setProperty(`--${name}`, this.theme[name]);
    this.element.style.colorScheme = this.theme.scheme;
  }

  show(parts) {
    const state = typeof parts === "string" ? readState(parts, this.payload) : settle(parts, this.payload);
    this.state = this.offered.includes(viewNamed(state.view)) ? state : { ...state, view: OFFERED[0] };
    return this.refresh();
  }

  set(parts) {
    const before = this.state;
    const next = { ...before, ...parts };
    const kindOf = (name) => this.payload.kinds.find((kind) => kind.kind === name);
    if (parts.kind && parts.kind !== before.kind) Object.assign(next, this.carried(kindOf(before.kind), kindOf(parts.kind)));
    // The head that was looked at alone is the one to look at in the views of one head, unless it was named; and back.
    const several = (name) => viewNamed(name).heads === "several";
    const gathers = (name) => Boolean(viewNamed(name).gathers);
    if (parts.view && !several(parts.view) && several(before.view) && before.heads.length === 1 && parts.head === undefined) next.head = before.heads[0];
    if (parts.view && gathers(parts.view) && !several(before.view) && before.head) Object.assign(next, { heads: [before.head], mean: false });
    // Each view has its own open element.
    if (parts.view && (gathers(parts.view) || gathers(before.view)) && parts.open === undefined) next.open = false;
    this.state = settle(next, this.payload);
    this.onState(this.state, this.hash());
    return this.refresh();
  }

  // What another kind of attention keeps of a state: its heads are others, and so are its tokens.
  carried(from, to) {
    const all = this.state.heads.length === from.heads || from.heads !== to.heads;
    return { token: null, heads: all ? headLabels(to) : this.state.heads, head: from.heads === to.heads ? this.state.head : 0 };
  }

  hash() {
    return writeState(this.state, this.payload);
  }

  refresh() {
    const { state } = this;
    this.drawn = this.draw().catch((error) => this.state === state && this.fail(error));
    return this.drawn;
  }

  async draw() {
    const { state } = this;
    const turn = ++this.turn;
    const kindIndex = this.store.kindIndex(state.kind);
    const kind = this.payload.kinds[kindIndex];
    const layerIndex = kind.layers.indexOf(state.layer);
    const view = viewNamed(state.view);
    const level = view.level === "token" ? "token" : state.level;
    this.toolbar.show(state, this.payload, kind, this.theme);
    const patience = setTimeout(() => (this.waiting.hidden = turn !== this.turn), PATIENCE);
    try {
      const weights = await this.store.weights(kindIndex, layerIndex, level);
      const drawn = view.gathers ? this.offered.filter(({ gathers, needs }) => !gathers && (state.open || needs === "weights")) : [view];
      const neuron = drawn.some(({ needs }) => needs === "queries and keys") ? await this.store.neuron(kindIndex, layerIndex) : null;
      // Views of tokens draw them, whatever the other views show.
      const tokens = level !== "token" && drawn.some((one) => one.level === "token") ? await this.frameAt(state, kindIndex, layerIndex, "token") : null;
      if (turn !== this.turn || this.ended.signal.aborted) return;
      const frame = { ...frameOf({ state, kind, units: this.store.unitsAt(kindIndex, level), weights, theme: this.theme }), title: this.payload.title };
      this.trouble.hidden = true;
      const shown = this.shownBy(view);
      // The view is laid out by its size, so it is in the page before it draws.
      for (const [name, other] of Object.entries(this.views)) other.element.hidden = name !== state.view;
      this.panel.setAttribute("aria-labelledby", this.element.querySelector("[role=tab][aria-selected=true]").id);
      await (view.gathers ? shown.show(frame, neuron, tokens || frame) : shown.show(framed(view, frame), neuron));
      if (turn === this.turn) this.last = state;
    } finally {
      clearTimeout(patience);
      if (turn === this.turn) this.waiting.hidden = true;
    }
  }

  async frameAt(state, kindIndex, layerIndex, level) {
    const weights = await this.store.weights(kindIndex, layerIndex, level);
    return frameOf({ state, kind: this.payload.kinds[kindIndex], units: this.store.unitsAt(kindIndex, level), weights, theme: this.theme });
  }

  shownBy({ name, element }) {
    if (!this.views[name]) {
      const views = this.offered.filter(({ gathers }) => !gathers);
      const host = { set: (parts) => this.set(parts), pick: (token) => this.set({ token }), say: (text) => this.announcer.say(text), views };
      this.views[name] = element(host, this.store);
      this.panel.append(this.views[name].element);
    }
    return this.views[name];
  }

  fail(error) {
    this.trouble.hidden = false;
    this.trouble.textContent = error.message;
    // The last drawing stays, and the controls describe it.
    if (this.last && this.last.view === this.state.view) {
      this.state = this.last;
      this.onState(this.state, this.hash());
      this.toolbar.show(this.state, this.payload, this.payload.kinds[this.store.kindIndex(this.state.kind)], this.theme);
      return;
    }
    for (const view of Object.values(this.views)) view.element.hidden = true;
  }

  scene() {
    return this.views[this.state.view].scene();
  }

  tell(text) {
    this.toolbar.note.textContent = text;
    this.announcer.say(text);
    clearTimeout(this.forgetting);
    this.forgetting = setTimeout(() => (this.toolbar.note.textContent = ""), 4000);
  }

  async save(format) {
    const scene = this.scene();
    if (!scene) return this.tell("There is nothing to save");
    const { view, kind, layer, head } = this.state;
    const several = this.payload.kinds.length > 1 ? kind : "";
    const { heads, gathers } = viewNamed(view);
    const which = heads === "layers" ? "" : (heads === "several" && !gathers) || !head ? `layer-${layer}` : `head-${layer}-${head}`;
    try {
      await saveScene(scene, format, fileName(this.payload.model.split("/").at(-1), view, several, which));
      return this.tell(`${format.toUpperCase()} saved`);
    } catch (error) {
      return this.tell(error.message);
    }
  }

  async copyLink() {
    this.tell((await copyText(this.host.address(this.hash()), this.element)) ? "Link copied" : "This browser refuses to copy: take the page's address");
  }

  async copyCode() {
    const code = figureCode(viewNamed(this.state.view), this.hash(), this.host.call);
    this.tell((await copyText(code, this.element)) ? "Python copied" : "This browser refuses to copy");
  }

  destroy() {
    this.ended.abort();
    clearTimeout(this.forgetting);
    for (const view of Object.values(this.views)) view.destroy();
    this.element.remove();
  }
}
