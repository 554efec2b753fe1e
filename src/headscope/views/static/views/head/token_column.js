// One column of tokens: a list to point at, walk through with the keys, and pin.
import { el } from "../../core/dom.js";
import { percent } from "../../core/format.js";
import { cutToken } from "../../core/token_text.js";

const LONGEST_DRAWN = 80;
const LONGEST_TITLE = 5000;

export class TokenColumn {
  // `on`: point(place or null), focus(place or null), pick(place), cross(place): to the other column,
  // leave(): whether there was something to let go of.
  constructor(side, name, on) {
    this.side = side;
    this.on = on;
    this.rows = [];
    this.marked = [];
    this.list = el("ul", {
      class: `hs-tokens hs-${side}`,
      role: "listbox",
      "aria-label": name,
      onpointerover: (event) => on.point(this.placeOf(event)),
      onpointerleave: () => on.point(null),
      onclick: (event) => this.placeOf(event) !== null && on.pick(this.placeOf(event)),
      onfocusin: (event) => on.focus(this.placeOf(event)),
      onfocusout: () => on.focus(null),
      onkeydown: (event) => this.key(event),
    });
  }

  placeOf(event) {
    const row = event.target.closest("[data-place]");
    return row ? Number(row.dataset.place) : null;
  }

  // `marks`: {generated: place or null, special, unknown: Sets of places}.
  show(labels, marks) {
    const same = this.labels && labels.length === this.labels.length && labels.every((label, i) => label === this.labels[i]);
    if (!same) {
      this.labels = labels;
      this.rows = labels.map((label, place) => this.row(label, place));
      this.list.replaceChildren(...this.rows.map(({ item }) => item));
      this.marked = [];
      this.isolated = null;
      this.roving = 0;
      if (this.rows.length) this.rows[0].item.tabIndex = 0;
    }
    this.rows.forEach(({ item }, place) => {
      item.classList.toggle("hs-generated", marks.generated !== null && place >= marks.generated);
      item.classList.toggle("hs-first-generated", place === marks.generated);
      item.classList.toggle("hs-special", marks.special.has(place));
      item.classList.toggle("hs-unknown", marks.unknown.has(place));
    });
  }

  row(label, place) {
    const drawn = cutToken(label, LONGEST_DRAWN);
    const share = el("span", { class: "hs-share" });
    const word = el("bdi", { class: "hs-label" }, drawn);
    const item = el("li", { role: "option", "aria-selected": "false", tabindex: "-1", "data-place": place, title: label.slice(0, LONGEST_TITLE) }, this.side === "query" ? [share, word] : [word, share]);
    return { item, share };
  }

  // The token that is shown alone (or null), the tokens on this side that it reaches, and their weights. Only rows in
  // view, [from, to), are written: a long text has many that nobody sees.
  isolate(own, drawn, weights, view) {
    this.list.classList.toggle("hs-isolated", own !== null || drawn !== null);
    for (const place of this.marked) {
      if (!this.rows[place]) continue;
      this.rows[place].item.classList.remove("hs-on", "hs-own");
      if (this.rows[place].share.firstChild) this.rows[place].share.textContent = "";
    }
    this.marked = [];
    this.alone = { own, drawn, weights };
    if (own !== null && this.rows[own]) {
      this.rows[own].item.classList.add("hs-own");
      this.marked.push(own);
    }
    this.reveal(view);
  }

  // More rows have come into view.
  reveal([from, to]) {
    if (!this.alone || !this.alone.drawn) return;
    const { drawn, weights } = this.alone;
    for (let place = from; place < Math.min(to, drawn.length); place++) {
      if (!drawn[place] || this.rows[place].item.classList.contains("hs-on")) continue;
      this.rows[place].item.classList.add("hs-on");
      this.rows[place].share.textContent = percent(weights[place]);
      this.marked.push(place);
    }
  }

  pin(place) {
    if (this.pinned !== undefined && this.rows[this.pinned]) this.rows[this.pinned].item.setAttribute("aria-selected", "false");
    this.pinned = place;
    if (place === null || !this.rows[place]) return;
    this.rows[place].item.setAttribute("aria-selected", "true");
    this.rove(place);
  }

  rove(place) {
    if (this.rows[this.roving]) this.rows[this.roving].item.tabIndex = -1;
    this.roving = place;
    this.rows[place].item.tabIndex = 0;
  }

  focus(place) {
    if (!this.rows.length) return;
    this.rove(Math.min(this.rows.length - 1, Math.max(0, place)));
    this.rows[this.roving].item.focus();
  }

  key(event) {
    const at = this.placeOf(event);
    if (at === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const last = this.rows.length - 1;
    const to = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: last, PageUp: at - 10, PageDown: at + 10 }[event.key];
    const across = event.key === (this.side === "query" ? "ArrowRight" : "ArrowLeft");
    if (to !== undefined) this.focus(to);
    else if (across) this.on.cross(at);
    else if (event.key === "Enter" || event.key === " ") this.on.pick(at);
    else if (event.key !== "Escape" || !this.on.leave()) return;
    event.preventDefault();
  }
}
