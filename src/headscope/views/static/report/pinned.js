// One sentence that every head is drawn on: point at a token, and all heads light up by how much they attend to it.
import { el } from "../core/dom.js";
import { percent } from "../core/format.js";
import { headTitle, mapOf, sharedSentences } from "./data.js";
import { sharesOf, strongestOf, uniformShare } from "./token_shares.js";

// WordPiece's mark of a piece that goes on.
const MARK = /^##(?=[^#])/;

// No line breaks within a word of several pieces, unless it is as long as an address.
const LONGEST = 24;

function wholeWords(tokens, continues) {
  const words = [];
  tokens.forEach((token, key) => (continues.has(key) && words.length ? words.at(-1).push(token) : words.push([token])));
  const short = (pieces) => pieces.reduce((length, piece) => length + piece.textContent.length, 0) <= LONGEST;
  return words.flatMap((pieces) => (pieces.length > 1 && short(pieces) ? el("span", { class: "whole" }, pieces) : pieces));
}

export class PinnedSentence {
  // `onToken(shares)`: of each head in head order, or null where the grid is to be as it was; `onPin()`: another is kept.
  constructor(box, onToken, onPin) {
    this.box = box;
    this.onToken = onToken;
    this.onPin = onPin;
    this.pinned = null;
    this.hint = el("span", { class: "hint", role: "status" });
  }

  show(kind) {
    this.kind = kind;
    this.pinned = null;
    this.shares = null;
    const [sentence] = sharedSentences(kind);
    if (!sentence) {
      this.tokens = [];
      this.box.replaceChildren();
      return;
    }
    const continues = new Set(sentence.continues);
    this.tokens = sentence.keys.map((token, key) => this.token(token, key, continues.has(key)));
    this.tokens[0].tabIndex = 0;
    const words = el("span", { role: "group", "aria-label": "One sentence for every head; arrow keys move, Enter keeps a token", class: "words", onmouseleave: () => this.light(this.pinned), onkeydown: (event) => this.move(event) }, wholeWords(this.tokens, continues));
    this.box.replaceChildren(words, this.hint);
    this.light(null);
  }

  token([drawn, whole], key, continues) {
    return el(
      "button",
      {
        type: "button",
        class: continues ? "token joined" : "token",
        tabindex: "-1",
        title: whole || null,
        "aria-pressed": "false",
        "data-key": key,
        onmouseenter: () => this.light(key),
        onfocus: () => this.light(key),
        onblur: () => this.light(this.pinned),
        onclick: () => this.pin(this.pinned === key ? null : key),
      },
      continues ? drawn.replace(MARK, "") : drawn,
    );
  }

  pin(key) {
    this.pinned = key;
    this.tokens.forEach((button, place) => button.setAttribute("aria-pressed", String(place === key)));
    this.light(key);
    this.onPin();
  }

  light(key) {
    const causal = this.kind.kind === "decoder";
    const best = key === null ? -1 : strongestOf(this.sharesOfHeads(causal), key);
    if (best < 0) {
      this.hint.textContent = "Point at a token: every head lights up by how much it attends to it. A click keeps it.";
      this.onToken(null);
      return;
    }
    const uniform = percent(uniformShare(this.tokens.length, key, causal));
    this.hint.textContent = `${headTitle(this.kind, best)} attends to it most: ${percent(this.shares[best][key])} on average, uniform attention ${uniform}.`;
    this.onToken(this.shares.map((own) => own && own[key]));
  }

  // Read when a token is first pointed at: of a big model that is a second of work.
  sharesOfHeads(causal) {
    this.shares = this.shares || this.kind.roles.map((_, index) => {
      const map = mapOf(this.kind, index);
      return map && sharesOf(map.weights, causal);
    });
    return this.shares;
  }

  move(event) {
    const key = Number(event.target.dataset.key);
    if (event.key === "Escape") this.pin(null);
    const to = { ArrowLeft: key - 1, ArrowRight: key + 1, Home: 0, End: this.tokens.length - 1 }[event.key];
    if (to === undefined || !this.tokens[to]) return;
    event.preventDefault();
    this.tokens[key].tabIndex = -1;
    this.tokens[to].tabIndex = 0;
    this.tokens[to].focus();
  }
}
