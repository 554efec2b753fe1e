// The controls above the view: view, kind, layer, heads, level, filters, and buttons to save or copy.
import { actionButton, checkField, selectField, stepField, tabRow } from "../core/controls.js";
import { el } from "../core/dom.js";
import { headLabels } from "./embedded_source.js";
import { PAIRS, sinkNames } from "./filters.js";
import { HeadChips } from "./head_chips.js";
import { offersOf, THRESHOLDS } from "./state_link.js";
import { toldToken } from "./telling.js";

export class Toolbar {
  // `set(parts)` changes the state; `actions`: save(format), copyLink, copyCode (null where there is none); `views`:
  // those that are offered.
  constructor({ set, actions, prefix, panel, views }) {
    this.offered = views;
    const tabs = (label, name, onPick) => tabRow({ label, panel, prefix: `${prefix}-${name}`, onPick });
    this.views = tabs("View", "view", (view) => set({ view }));
    this.kinds = tabs("Kind of attention", "kind", (kind) => set({ kind }));
    this.layer = selectField({ label: "Layer", steps: true, onPick: (value) => set({ layer: Number(value) }) });
    this.chips = new HeadChips((heads, mean) => set(mean === undefined ? { heads } : { heads, mean }));
    this.head = selectField({ label: "Head", steps: true, onPick: (value) => set({ head: Number(value) }) });
    this.level = selectField({ label: "Level", onPick: (level) => set({ level }) });
    this.filter = selectField({ label: "Sentences", onPick: (filter) => set({ filter }) });
    this.least = selectField({ label: "Lines from", onPick: (value) => set({ least: Number(value) }) });
    this.special = checkField({ label: "special tokens", onPick: (special) => set({ special }) });
    // The choices of single views, once where two share one.
    const own = new Map(views.flatMap(({ fields = [] }) => fields).filter(({ label }) => label).map((field) => [field.name, field]));
    this.own = [...own.values()].map((field) => ({ field, control: selectField({ label: field.label, onPick: (value) => set({ [field.name]: value }) }) }));
    this.faint = checkField({ label: "", onPick: (faint) => set({ faint }) });
    this.steps = stepField({ label: "Step", onPick: (step) => set({ token: step < 0 ? null : { side: "query", at: this.rows[step] } }) });
    const take = [
      actionButton("Save", "SVG", "Save the view as an SVG picture, in light colors", () => actions.save("svg")),
      actionButton("Save", "PNG", "Save the view as a PNG picture, in light colors", () => actions.save("png")),
      actions.copyLink && actionButton("Copy", "link", "Copy an address that opens this view as it is now", actions.copyLink),
      actions.copyCode && actionButton("Copy", "code", "Copy Python that draws this view", actions.copyCode),
    ];
    this.note = el("span", { class: "hs-note", "aria-hidden": "true" });
    this.fields = el("div", { class: "hs-fields" }, [this.layer, this.chips, this.head, ...this.own.map(({ control }) => control), this.level, this.filter, this.least, this.faint, this.special, this.steps].map(({ element }) => element));
    this.element = el("div", { class: "hs-toolbar" }, el("div", { class: "hs-top" }, this.views.element, this.kinds.element, el("div", { class: "hs-actions" }, this.note, take)), this.fields);
  }

  show(state, payload, kind, theme) {
    const offers = offersOf(kind);
    const view = this.offered.find(({ name }) => name === state.view);
    const several = view.heads === "several";
    const one = view.heads === "one";
    const present = (control, on, ...values) => {
      control.element.hidden = !on;
      if (on) control.show(...values);
    };
    this.views.show(state.view, this.offered.map(({ name, label }) => [name, label]));
    this.kinds.show(state.kind, payload.kinds.map((other) => [other.kind, other.kind]));
    present(this.layer, view.heads !== "layers" && kind.layers.length > 1, String(state.layer), kind.layers.map((layer) => [String(layer), String(layer)]));
    present(this.chips, several, kind, state.heads, state.mean, theme);
    const heads = headLabels(kind).map((head) => [String(head), String(head)]);
    const chosen = one && !state.head ? heads[0][0] : String(state.head);
    present(this.head, (one || view.heads === "mean") && kind.heads > 1, chosen, one ? heads : [["0", "mean of all"], ...heads]);
    present(this.level, offers.words && view.level !== "token", state.level, [["token", "tokens"], ["word", "words"]]);
    present(this.filter, offers.pairs, state.filter, Object.entries(PAIRS));
    present(this.least, several, String(state.least), THRESHOLDS.map((least) => [String(least), String(least)]));
    present(this.faint, several && offers.faint && (state.special || !offers.special), state.faint, `${sinkNames(kind)} faint`);
    present(this.special, offers.special, state.special);
    for (const { field, control } of this.own) {
      const options = field.options(kind);
      present(control, view.fields?.includes(field) && options.length > 1, state[field.name], options);
    }
    this.rows = offers.steps;
    const step = state.token && state.token.side === "query" ? this.rows.indexOf(state.token.at) : -1;
    present(this.steps, this.rows.length > 0 && view.heads !== "layers", step, this.rows.length, this.tellStep(step, kind));
  }

  tellStep(step, kind) {
    if (step < 0) return `${this.rows.length} generated tokens`;
    const { tokens } = kind.queries;
    return `${step + 1} of ${this.rows.length}: ${toldToken(tokens[this.rows[step]])} → ${toldToken(tokens[this.rows[step] + 1])}`;
  }
}
