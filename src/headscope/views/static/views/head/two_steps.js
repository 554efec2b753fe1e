// Below the head view of a decoder, where a token that attends is kept: what was moved to a token that it attends to, by heads of
// the layers below. It describes where attention went, in two steps; that one step made the other is not said.
import { el } from "../../core/dom.js";
import { percent } from "../../core/format.js";
import { attendedKeys, chosenKey, keyChoice } from "./attended_keys.js";
import { hasSink, headLabels, isSquare } from "../embedded_source.js";
import { movesTo } from "./moves.js";
import { tokenAt } from "../frame.js";
import { toldToken } from "../telling.js";

const MOST_KEYS = 4;
const MOST_MOVES = 5;

export class TwoSteps {
  constructor(host, store) {
    this.host = host;
    this.store = store;
    this.turn = 0;
    this.chosen = null;
    this.element = el("section", { class: "hs-two-steps", "aria-label": "Two steps", hidden: true });
  }

  // `pinned`: {side, place} or null.
  async show(frame, pinned) {
    const turn = ++this.turn;
    const { kind, state } = frame;
    const shown = pinned && pinned.side === "query" && kind.kind === "decoder" && isSquare(kind) && state.level === "token" && frame.heads.length;
    this.element.hidden = !shown;
    if (!shown) return;
    const tokens = kind.queries.tokens.length;
    const keys = attendedKeys(frame, pinned.place, MOST_KEYS).filter(({ at }) => at < tokens);
    const query = tokenAt(frame, "query", pinned.place).at;
    const key = chosenKey(keys, query, this.chosen);
    const kindIndex = this.store.kindIndex(kind.kind);
    const below = kind.layers.indexOf(state.layer);
    const [written, ...weights] = await Promise.all([this.store.written(kindIndex), ...kind.layers.slice(0, below).map((_, layer) => this.store.weights(kindIndex, layer, "token"))]);
    if (turn !== this.turn) return;
    const layers = weights.map((each, layer) => ({ layer: kind.layers[layer], heads: headLabels(kind), weights: each, written: written && written[layer] }));
    this.element.replaceChildren(...this.parts(frame, { query, key, keys, layers, tokens, written, label: frame.labels.query[pinned.place] }));
  }

  parts(frame, { query, key, keys, layers, tokens, written, label }) {
    const { layer } = frame.state;
    const choice = keyChoice(label, keys, key, (at) => this.choose(frame, query, at));
    if (!key) return [choice];
    const title = el("h2", {}, "Two steps");
    if (!layers.length) return [title, choice, el("p", {}, `There is no layer below layer ${layer} here that could have moved a token to ${toldToken(key.label)}.`)];
    if (key.at === 0) return [title, choice, el("p", {}, `${toldToken(key.label)} is the first token: no earlier token could be moved to it.`)];
    const moves = movesTo(layers, key.at, tokens);
    const intro = el("p", {}, `Before layer ${layer}, heads of layers below moved to ${toldToken(key.label)}:`);
    const columns = el(
      "div",
      { class: "hs-moves" },
      this.column(frame, key, "By attention weight", moves.weight, ({ weight }) => percent(weight)),
      written ? this.column(frame, key, "By output norm", moves.norm, ({ norm }) => Number(norm.toPrecision(3)).toLocaleString("en")) : el("div", {}, el("h3", {}, "By output norm"), el("p", {}, "Not known for this attention: it needs a model with a readable output projection.")),
    );
    const sink = hasSink(frame.kind) ? " A learned sink moves nothing." : "";
    return [title, choice, intro, columns, el("p", { class: "hs-count" }, `For each head, the other token from which it moved most. A norm is the length of a vector in the residual stream. This describes where attention went, not what caused it.${sink}`)];
  }

  column(frame, key, title, moves, format) {
    const tokens = frame.kind.queries.tokens;
    const rows = moves.slice(0, MOST_MOVES).map((move) => {
      const open = () => this.host.set({ layer: move.layer, heads: [move.head], mean: false, token: { side: "query", at: key.at } });
      const name = el("button", { type: "button", class: "hs-plain", title: "Show this head", onclick: open }, `${move.layer}-${move.head}`);
      return el("li", {}, name, el("span", {}, `from ${toldToken(tokens[move.from])}`), el("b", {}, format(move)));
    });
    return el("div", {}, el("h3", {}, title), el("ol", {}, rows));
  }

  choose(frame, query, key) {
    this.chosen = { query, key };
    return this.show(frame, this.place(frame, query));
  }

  place(frame, query) {
    return { side: "query", place: frame.shown.query.indexOf(frame.units.query.unitOf[query]) };
  }
}
