// Below the head view of the explorer, when an attending token is pinned: why it attends to a token, as bars of the sources of the
// key and of the query. It replaces the two steps of a static page, because the server can ask the model.
import { el } from "../../core/dom.js";
import { attendedKeys, chosenKey, keyChoice } from "./attended_keys.js";
import { tokenAt } from "../frame.js";

const MOST_KEYS = 6;
const TITLES = { key: "Written into the key", query: "Written into the query" };

export class ScoreSources {
  constructor(store) {
    this.store = store;
    this.turn = 0;
    this.chosen = null;
    this.element = el("section", { class: "hs-two-steps", "aria-label": "Why", hidden: true });
  }

  // `pinned`: {side, place} or null.
  show(frame, pinned) {
    const turn = ++this.turn;
    const { kind, state } = frame;
    const shown = pinned && pinned.side === "query" && state.level === "token" && frame.heads.length;
    this.element.hidden = !shown;
    if (!shown) return;
    const title = el("h2", {}, "Why");
    if (state.heads.length > 1) {
      this.element.replaceChildren(title, el("p", {}, "Leave one head on to see what draws it to a token."));
      return;
    }
    const query = tokenAt(frame, "query", pinned.place).at;
    const keys = attendedKeys(frame, pinned.place, MOST_KEYS);
    const key = chosenKey(keys, query, this.chosen);
    const choice = keyChoice(frame.labels.query[pinned.place], keys, key, (at) => {
      this.chosen = { query, key: at };
      this.show(frame, pinned);
    });
    if (!key) return this.element.replaceChildren(title, choice);
    const answer = el("div", { class: "hs-sources", "aria-live": "polite" }, el("p", { class: "hs-count" }, "Asking the model …"));
    this.element.replaceChildren(title, choice, answer);
    const cell = { kind: this.store.kindIndex(kind.kind), layer: kind.layers.indexOf(state.layer), head: state.heads[0], query, key: key.at };
    // The other views do not wait for the model.
    this.parts(cell).then((parts) => turn === this.turn && answer.replaceChildren(...parts));
  }

  async parts(cell) {
    let found;
    try {
      found = await this.store.source.score(cell);
    } catch (error) {
      return [el("p", {}, error.message)];
    }
    const largest = Math.max(...Object.values(found.sides).flat().map(([, nats]) => Math.abs(nats)), 1e-9);
    const far = `${Math.abs(found.above_mean).toFixed(2)} nats ${found.above_mean < 0 ? "below" : "above"} the mean of its row`;
    const columns = Object.keys(TITLES).map((side) => el("div", {}, el("h3", {}, TITLES[side]), el("ol", {}, found.sides[side].map(([source, nats]) => bar(source, nats, largest)))));
    return [el("p", {}, `The score is ${far}.`), el("div", { class: "hs-moves" }, columns), el("p", { class: "hs-count" }, "On each side the parts sum to this difference. Norms keep the scale of the unchanged input.")];
  }
}

function bar(source, nats, largest) {
  const part = el("i", { class: nats < 0 ? "hs-less" : "" });
  part.style.width = `${((100 * Math.abs(nats)) / largest).toFixed(1)}%`; // the explorer's policy allows no style in markup
  return el("li", {}, el("span", {}, source), el("span", { class: "hs-part", "aria-hidden": "true" }, part), el("b", {}, `${nats < 0 ? "−" : "+"}${Math.abs(nats).toFixed(2)}`));
}
