// Every view of one layer at once, linked: the same heads, the same token; the model's heads choose the layer's.
import { el } from "../../core/dom.js";
import { headLabels } from "../embedded_source.js";
import { withHead, withHeads, withMean } from "../frame.js";
import { DIRECTION } from "../heatmap/heat_view.js";
import { sceneOfAll } from "./all_scene.js";

export const VIEW = {
  name: "all",
  label: "All views",
  heads: "several",
  needs: "weights",
  level: "any",
  gathers: true,
  fields: [DIRECTION],
  element: (host, store) => new AllViews(host, store),
};

// Two columns; views that are not named are below the first, those that need queries and keys below both, folded.
const COLUMNS = [["head", "matrix"], ["heatmap", "model"]];

function arranged(views) {
  const plain = views.filter(({ needs }) => needs === "weights").map(({ name }) => name);
  const columns = COLUMNS.map((names) => names.filter((name) => plain.includes(name)));
  columns[0].push(...plain.filter((name) => !COLUMNS.flat().includes(name)));
  return { columns, folded: views.filter(({ needs }) => needs !== "weights").map(({ name }) => name) };
}

export class AllViews {
  constructor(host, store) {
    this.host = host;
    const own = { ...host, set: (parts) => host.set(chosenHead(parts)) };
    this.parts = Object.fromEntries(host.views.map((view) => [view.name, view.element(own, store, { among: true })]));
    Object.assign(this, arranged(host.views));
    this.more = this.folded.map(() => el("button", { type: "button", class: "hs-action", "aria-expanded": "false", onclick: () => host.set({ open: !this.frame.state.open }) }, "Show"));
    this.panels = Object.fromEntries(host.views.map((view) => [view.name, this.panel(view)]));
    const panels = (names) => names.map((name) => this.panels[name]);
    this.element = el("section", { class: "hs-all", "aria-label": "All views" }, this.columns.map((names) => el("div", { class: "hs-all-column" }, panels(names))), panels(this.folded));
  }

  panel({ name, label, about }) {
    const { element } = this.parts[name];
    const alone = el("button", { type: "button", class: "hs-action", "aria-label": `${label} alone`, onclick: () => this.host.set({ view: name }) }, "Alone");
    const more = this.more[this.folded.indexOf(name)];
    return el("div", { class: `hs-card hs-card-${name}` }, el("div", { class: "hs-card-top" }, el("h2", {}, label), more, alone), more ? el("p", { class: "hs-count hs-about" }, about) : null, element);
  }

  // `frame` is that of the state's layer; `neuron` the layer's queries and keys, or null; `tokens` a frame of tokens for
  // the views that have no words.
  async show(frame, neuron, tokens) {
    const fresh = !this.frame || this.frame.kind !== frame.kind;
    this.frame = frame;
    const { open } = frame.state;
    this.folded.forEach((name, i) => {
      this.more[i].textContent = open ? "Hide" : "Show";
      this.more[i].setAttribute("aria-expanded", String(open));
      this.parts[name].element.hidden = !open;
      this.panels[name].querySelector(".hs-about").hidden = open;
    });
    // The layers come one after another, so they come last.
    const views = this.host.views.filter(({ name }) => open || !this.folded.includes(name));
    views.sort((a, b) => (a.heads === "layers") - (b.heads === "layers"));
    for (const view of views) {
      if (view.heads === "layers" && fresh) this.panels[view.name].classList.toggle("hs-crowded", frame.kind.heads > 16);
      await this.parts[view.name].show(this.framed(view, view.level === "token" ? { ...tokens, title: frame.title } : frame), neuron);
    }
  }

  // What a part draws of the heads that are on.
  framed({ heads }, frame) {
    const { state } = frame;
    if (heads === "several") return withHeads(frame);
    if (heads === "one") return withHead(frame, state.heads[0] || headLabels(frame.kind)[0]);
    const one = state.heads.length === 1 ? state.heads[0] : 0;
    const single = { ...frame, state: { ...state, head: one } };
    if (heads === "mean") return one ? withHead(single, one) : withMean(single, state.heads);
    return { ...single, state: { ...single.state, open: false } };
  }

  // The parts as one picture, in the page's two columns.
  scene() {
    const [left, right] = this.columns;
    const columns = [left, [...right, ...(this.frame.state.open ? this.folded : [])]];
    return sceneOfAll(columns.map((names) => names.map((name) => this.parts[name].scene()).filter(Boolean)), this.frame.title);
  }

  destroy() {
    for (const part of Object.values(this.parts)) part.destroy();
  }
}

// A head of the model view is the one that all other views show.
function chosenHead(parts) {
  return parts.head ? { layer: parts.layer, heads: [parts.head], mean: false } : parts;
}
