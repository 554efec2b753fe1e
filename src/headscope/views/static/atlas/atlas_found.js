// The line of search results: the heads that match, or the nearest ones if none does.
import { anchorOf } from "../report/data.js";
import { relationNamed, showingNamed, standIns, strongestStandIns } from "./atlas_data.js";
import { el } from "../core/dom.js";
import { nameOf } from "./atlas_list.js";

const MOST_LINKS = 14;

export class FoundLine {
  // `onPick(kind, index)`: a head of the line was chosen. `onText(text)`: asked to look at what was typed and names no
  // head; null where nobody can.
  constructor(filters, { onPick, onText }) {
    Object.assign(this, { filters, onPick, onText });
    this.element = el("div", { class: "at-found", role: "status" });
  }

  // `heads`: heads that match the search; all heads without a search.
  tell(heads) {
    this.element.replaceChildren(...this.parts(heads).filter(Boolean));
  }

  parts(heads) {
    const { filters } = this;
    const number = heads.length.toLocaleString("en");
    if (!filters.active) return [el("span", { class: "at-soft" }, `${number} heads`)];
    const trouble = filters.trouble();
    if (!heads.length) return [el("strong", {}, "No head is found. "), trouble || `No head matches the whole search. ${filters.askable()}`, this.offer()];
    const weak = filters.wanted.filter((name) => !filters.found.has(name)).map(relationNamed);
    const unshown = filters.wantedShown.filter((name) => !filters.found.has(name)).map(showingNamed);
    const more = heads.length - MOST_LINKS;
    return [
      el("strong", {}, heads.length === 1 ? "1 head: " : `${number} heads: `),
      ...heads.slice(0, MOST_LINKS).flatMap((head) => [this.link(head), " "]),
      more > 0 ? `and ${more.toLocaleString("en")} more, listed below` : null,
      ...[...standIns(weak), ...strongestStandIns(unshown)].map((sentence) => el("span", { class: "at-soft" }, ` ${sentence}`)),
      trouble ? el("span", { class: "at-soft" }, ` ${trouble}`) : null,
    ];
  }

  link(head) {
    const follow = (event) => {
      event.preventDefault();
      event.stopPropagation();
      this.onPick(head.kind, head.index);
    };
    return el("a", { class: "head at-link", href: `#${anchorOf(head.kind, head.index)}`, onclick: follow }, nameOf(head));
  }

  // What was typed may have been a sentence to look at.
  offer() {
    const text = this.filters.input.value.trim();
    if (!this.onText || !/\s/.test(text)) return null;
    return el("p", {}, el("button", { type: "button", class: "at-button", onclick: () => this.onText(text) }, "Look at this sentence"));
  }
}
