// The neuron view: how one query's weights come about, from its vector to the softmax. Click or Enter opens a query.
import { el } from "../../core/dom.js";
import { percent } from "../../core/format.js";
import { placeOfToken } from "../frame.js";
import { neuronScene, signed } from "./neuron_scene.js";
import { NeuronTable } from "./neuron_table.js";
import { keyVector, scoreRow, scoreSteps } from "./score_row.js";
import { tellAttention, toldToken } from "../telling.js";
import { TokenColumn } from "../head/token_column.js";

export const VIEW = {
  name: "neuron",
  label: "Neuron view",
  call: "neuron_view",
  heads: "one",
  needs: "queries and keys",
  level: "token",
  about: "How one head's weights come about, from queries and keys.",
  fields: [{ name: "order", label: "Keys in order of", options: () => [["position", "position"], ["weight", "weight"]] }],
  element: (host) => new NeuronView(host),
};

export class NeuronView {
  constructor(host) {
    this.host = host;
    this.tokens = new TokenColumn("query", "Queries; Enter opens one", {
      point: () => {},
      focus: () => {},
      pick: (place) => this.pick(place),
      cross: () => this.table.element.focus(),
      leave: () => this.leave(),
    });
    this.readout = el("p", { class: "hs-readout" });
    this.note = el("p", { class: "hs-count" });
    this.table = new NeuronTable((spot) => this.point(spot));
    this.detail = el("div", { class: "hs-detail" }, this.readout, this.table.element, this.note);
    this.missing = el("p", { class: "hs-missing", hidden: true });
    this.element = el("section", { class: "hs-neuron", "aria-label": "Neuron view" }, this.missing, el("div", { class: "hs-scroll hs-queries" }, this.tokens.list), this.detail);
  }

  // `frame` is at token level, of one head; `neuron` its layer's queries and keys, or null.
  show(frame, neuron) {
    this.frame = frame;
    this.neuron = neuron;
    const without = !neuron;
    this.missing.hidden = !without;
    this.element.classList.toggle("hs-without", without);
    this.missing.textContent = without ? frame.kind.no_neuron || "This page has no queries and keys; pages of long texts leave them out. `headscope view neuron` and `neuron_view` keep them." : "";
    if (without) return;
    const { state, units, shown, labels } = frame;
    const places = Array.from(shown.query);
    const among = (marked) => new Set(places.map((unit, place) => (marked.has(unit) ? place : -1)).filter((place) => place >= 0));
    this.tokens.show(labels.query, {
      generated: units.query.generated === null ? null : places.findIndex((unit) => unit >= units.query.generated),
      special: among(units.query.special),
      unknown: among(units.query.unknown),
    });
    this.place = this.openPlace();
    this.tokens.pin(this.place);
    this.fill();
  }

  // The query that is open: the kept one, else the first that is not special.
  openPlace() {
    const { state, units, shown } = this.frame;
    const kept = state.token && state.token.side === "query" ? placeOfToken(this.frame, state.token) : -1;
    if (kept >= 0) return kept;
    return Math.max(0, shown.query.findIndex((unit) => !units.query.special.has(unit)));
  }

  pick(place) {
    this.speaking = true;
    this.host.pick({ side: "query", at: this.frame.units.query.first[this.frame.shown.query[place]] });
  }

  leave() {
    if (!this.frame.state.token) return false;
    this.host.pick(null);
    return true;
  }

  fill() {
    const { frame, neuron } = this;
    const head = frame.heads[0];
    const query = frame.shown.query[this.place];
    const causal = frame.kind.causal && !neuron.mask;
    const row = scoreRow(neuron, head, query, { causal });
    const keys = Array.from(frame.shown.key);
    const order = frame.state.order === "weight" ? keys.slice().sort((a, b) => row.weight[b] - row.weight[a] || a - b) : keys;
    const vectors = (key) => keyVector(neuron, head, key);
    const products = (key) => vectors(key).map((value, i) => value * row.q[i]);
    const largest = (lists) => lists.reduce((most, list) => list.reduce((top, value) => Math.max(top, Math.abs(value)), most), 1e-9);
    const scales = { vectors: largest([row.q, ...keys.map(vectors)]), products: largest(keys.map(products)) };
    const labels = frame.units.key.labels;
    this.content = { row, order, vectors, products, labels, query: frame.labels.query[this.place], steps: scoreSteps(neuron, causal), scales, width: neuron.width, theme: frame.theme };
    this.table.show(this.content);
    this.told = tellAttention("query", this.content.query, Float32Array.from(keys, (key) => row.weight[key]), keys.map((key) => labels[key]));
    if (this.speaking) this.host.say(this.told);
    this.speaking = false;
    this.point("");
    this.note.textContent = this.foot(row, query, head);
  }

  // What was left out, and how near these weights are to the model's.
  foot(row, query, head) {
    const { weights, kind } = this.frame;
    const { queries, keys, values } = weights;
    let most = 0;
    for (let key = 0; key < keys; key++) most = Math.max(most, Math.abs(row.weight[key] - values[(head * queries + query) * keys + key]));
    const { scaling, softcap } = this.neuron;
    const parts = [];
    if (scaling !== null) parts.push(`scale ${Number(scaling.toPrecision(4))}`);
    if (softcap !== null) parts.push(`soft-cap ${softcap}`);
    const given = parts.length ? `${parts.join(", ")}. ` : "";
    const close = most < 0.0005 ? "less than 0.1%" : percent(most);
    return `${given}${kind.kind === "cross" ? "Keys are the encoder's tokens. " : ""}Queries and keys are in half precision: in this row the weights differ from the model's by ${close} at most.`;
  }

  point(spot) {
    const { state } = this.frame;
    if (!spot) {
      this.readout.textContent = `${this.told}. Layer ${state.layer}, head ${this.frame.looks[0].name}.`;
      return;
    }
    const { row, vectors, labels } = this.content;
    const [q, k] = [row.q[spot.dimension], vectors(spot.key)[spot.dimension]];
    this.readout.textContent = `Number ${spot.dimension + 1} of ${this.neuron.width}: q ${signed(q)} × k ${signed(k)} = ${signed(q * k)}, toward ${toldToken(labels[spot.key])}.`;
  }

  scene() {
    if (!this.neuron) return null;
    const { state, looks } = this.frame;
    return neuronScene({ ...this.content, caption: `Layer ${state.layer} · head ${looks[0].name} · how ${toldToken(this.content.query)} attends` });
  }

  destroy() {
    this.table.destroy();
  }
}
