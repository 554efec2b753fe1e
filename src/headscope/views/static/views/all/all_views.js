// Every view of one layer at once, linked: the same heads, the same token; the model's heads choose the layer's.
import { el } from "../../core/dom.js";
import { withHead, withHeads, withMean } from "../frame.js";
import { headLabels } from "../embedded_source.js";
import { HeadView } from "../head/head_view.js";
import { HeatView } from "../heatmap/heat_view.js";
import { MatrixView } from "../matrix/matrix_view.js";
import { ModelView } from "../model/model_view.js";
import { NeuronView } from "../neuron/neuron_view.js";
import { sceneOfAll } from "./all_scene.js";

const PANELS = [["head", "Head view"], ["matrix", "Matrix"], ["heatmap", "Heat map"], ["model", "Model view"], ["neuron", "Neuron view"]];

export class AllViews {
  // `host`: set(state parts), pick, say; `store` gives layers.
  constructor(host, store) {
    this.host = host;
    this.store = store;
    const choose = { ...host, set: (parts) => host.set(chosenHead(parts)) };
    this.parts = {
      head: new HeadView(host, store, "card"),
      heatmap: new HeatView(host),
      model: new ModelView(choose, store, { enlarges: false }),
      matrix: new MatrixView(host),
      neuron: new NeuronView(host),
    };
    this.more = el("button", { type: "button", class: "hs-action", "aria-expanded": "false", onclick: () => host.set({ open: !this.frame.state.open }) }, "Show");
    this.panels = Object.fromEntries(PANELS.map(([name, title]) => [name, this.panel(name, title)]));
    const { head, matrix, heatmap, model, neuron } = this.panels;
    const column = (...cards) => el("div", { class: "hs-all-column" }, cards);
    this.element = el("section", { class: "hs-all", "aria-label": "All views" }, column(head, matrix), column(heatmap, model), neuron);
  }

  panel(name, title) {
    const { element } = this.parts[name];
    const alone = el("button", { type: "button", class: "hs-action", "aria-label": `${title} alone`, onclick: () => this.host.set({ view: name }) }, "Alone");
    const say = name === "neuron" ? el("p", { class: "hs-count" }, "How one head's weights come about, from queries and keys.") : null;
    return el("div", { class: `hs-card hs-card-${name}` }, el("div", { class: "hs-card-top" }, el("h2", {}, title), name === "neuron" ? this.more : null, alone), say, element);
  }

  // `frame` is that of the state's layer; `neuron` the layer's queries and keys, or null; `tokens` a frame of tokens for them.
  async show(frame, neuron, tokens) {
    const fresh = !this.frame || this.frame.kind !== frame.kind;
    this.frame = frame;
    const { state, kind } = frame;
    const one = state.heads.length === 1 ? state.heads[0] : 0;
    const single = { ...frame, state: { ...state, head: one } };
    this.parts.head.show(withHeads(frame));
    const mean = one ? withHead(single, one) : withMean(single, state.heads);
    this.parts.heatmap.show(mean);
    this.parts.matrix.show(mean);
    this.more.textContent = state.open ? "Hide" : "Show";
    this.more.setAttribute("aria-expanded", String(state.open));
    this.parts.neuron.element.hidden = !state.open;
    this.panels.neuron.querySelector(".hs-count").hidden = state.open;
    if (state.open) this.parts.neuron.show(withHead({ ...tokens, title: frame.title }, state.heads[0] || headLabels(kind)[0]), neuron);
    if (fresh) this.panels.model.classList.toggle("hs-crowded", kind.heads > 16);
    await this.parts.model.show({ ...single, state: { ...single.state, open: false } });
  }

  // The parts as one picture, in the page's two columns.
  scene() {
    const columns = [["head", "matrix"], ["heatmap", "model", ...(this.frame.state.open ? ["neuron"] : [])]];
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
