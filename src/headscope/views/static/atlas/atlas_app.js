// The head atlas: a card for each head, found by the map, the grid, filters or words. One code for the page and the explorer.
import { anchorOf, data, headAt } from "../report/data.js";
import { allHeads, atlas, headWorthOpening, relationNamed, runnersUp } from "./atlas_data.js";
import { atlasCard } from "./atlas_card.js";
import { AtlasFilters } from "./atlas_filters.js";
import { comparedPart } from "./atlas_compared.js";
import { AtlasList } from "./atlas_list.js";
import { CompareHint } from "./atlas_hint.js";
import { el } from "../core/dom.js";
import { FoundLine } from "./atlas_found.js";
import { HeadGrid } from "../report/grid.js";
import { HeadMap } from "./head_map.js";
import { HeadScatter } from "../report/head_scatter.js";
import { colorBy, kindTabs } from "../report/tabs.js";

const RUNNERS_UP = 5;

// `root`: an element to fill. The data blocks `data`, `maps` and `atlas` lie in the document.
// `onSentence({text, kind, layer, head, tokens})`: called to show an example in the views; without it there is no button.
// `onText(text)`: called to read the typed text as a sentence, if it names no head; without it there is no such button.
// `onHead(anchor)`: hears which heads the reader opens, as `encoder-8-10` or, compared, `encoder-8-10~encoder-3-1`.
// `show(anchor)` opens them; what names no head opens one that finds something.
export function mountAtlas(root, { onSentence = null, onText = null, onHead = () => {} } = {}) {
  const app = new AtlasApp(root, { onSentence, onText, onHead });
  return { show: (anchor) => app.show(anchor), destroy: () => app.destroy() };
}

class AtlasApp {
  constructor(root, actions) {
    Object.assign(this, actions);
    this.heads = allHeads();
    this.opened = [];
    this.picking = false;
    this.filters = new AtlasFilters(
      this.heads,
      () => {
        this.narrow();
        this.openOnly();
      },
      () => this.openFirst(),
    );
    this.list = new AtlasList((kind, index) => this.pick(kind, index));
    const readouts = [0, 1].map(() => el("p", { class: "readout" }));
    const boxes = { map: el("div"), grid: el("div", { class: "grid-box", id: "grid" }), scatter: el("div"), color: el("div", { class: "at-color" }) };
    colorBy(boxes.color, (measure) => {
      this.grid.colorBy = measure;
      this.grid.paint();
    });
    this.map = new HeadMap(boxes.map, readouts[0], (index) => this.pick(this.kind, index));
    this.grid = new HeadGrid(boxes.grid, readouts[1], (index) => this.pick(this.kind, index), { ids: false });
    this.scatter = new HeadScatter(boxes.scatter, (kind, index) => this.pick(kind, index));
    this.noMap = el("p", { class: "caption", hidden: true }, `This run measured no distances between heads, so there is no map of them: ${atlas.missing.distances || ""}.`);
    this.tabs = el("div", { class: "tabs" });
    this.found = new FoundLine(this.filters, { onPick: (kind, index) => this.pick(kind, index), onText: this.onText });
    this.hint = new CompareHint({ onLeave: () => this.stopPicking(), onAlone: () => this.open([this.opened[0]], { tell: true }) });
    this.cards = el("div", { class: "at-cards" });
    this.element = el(
      "div",
      { class: "at-atlas", onkeydown: (event) => this.pressed(event) },
      this.filters.element,
      el("div", { class: "at-found-line" }, this.found.element, this.filters.clear),
      el(
        "div",
        { class: "at-columns" },
        el(
          "div",
          { class: "at-ways" },
          el(
            "section",
            { "aria-label": "Map of heads" },
            el("div", { class: "bar" }, el("h2", {}, "Map"), this.tabs, el("span", { class: "at-soft" }, "near means alike")),
            this.noMap,
            boxes.map,
            readouts[0],
          ),
          this.list.element,
          el("section", { "aria-label": "Grid of heads" }, el("div", { class: "bar" }, el("h2", {}, "Grid"), boxes.color), boxes.grid, readouts[1]),
          el("section", { "aria-label": "Heads by two measures" }, el("div", { class: "bar" }, el("h2", {}, "Any two measures")), boxes.scatter),
        ),
        el("div", { class: "at-side" }, this.hint.element, this.cards),
      ),
    );
    root.append(this.element);
    this.markTab = kindTabs(this.tabs, (kind) => this.showKind(kind));
    if (data.kinds.length) this.showKind(data.kinds[0]);
  }

  showKind(kind) {
    this.kind = kind;
    this.grid.show(kind);
    this.scatter.show(kind);
    this.noMap.hidden = this.map.show(kind);
    this.markTab(kind);
    this.narrow();
    this.mark();
  }

  // If the search names a single head, open its card and keep the focus in the search box.
  openOnly() {
    const { left, filters } = this;
    if (!filters.active || left.length !== 1 || this.isOpen(left[0])) return;
    this.take(left[0].kind, left[0].index);
    this.onHead(this.address);
  }

  // Enter: the first head of the list.
  openFirst() {
    if (!this.filters.active || !this.left.length) return;
    const { kind, index } = this.list.first;
    if (!this.isOpen({ kind, index })) this.pick(kind, index);
    else this.reveal();
  }

  isOpen({ kind, index }) {
    return this.opened.some((one) => one.kind === kind && one.index === index);
  }

  // Dim heads that do not match the search, and list those that do.
  narrow() {
    const { filters } = this;
    const left = this.heads.filter((head) => filters.keeps(head));
    this.left = left;
    const kept = new Set(left.filter(({ kind }) => kind === this.kind).map(({ index }) => index));
    const keep = filters.active ? (index) => kept.has(index) : null;
    [this.map.keep, this.grid.keep, this.scatter.keep] = [keep, keep, keep];
    this.map.paint();
    this.scatter.paint();
    this.grid.paint();
    this.map.tell(null);
    this.found.tell(left);
    const [first] = filters.wanted;
    if (first) this.list.measure = `relation ${first}`;
    else if (filters.wantedShown.length) this.list.measure = `statistic ${filters.wantedShown[0]}`;
    else if (filters.statistic) this.list.measure = `statistic ${filters.statistic}`;
    else if (filters.active) this.list.measure = "";
    this.list.down = true;
    this.listed(left, first);
  }

  // If the search is for heads that find a relation, the next best heads follow them.
  listed(left, name) {
    const relation = name && relationNamed(name);
    const nearly = relation ? runnersUp(relation, this.heads.filter((head) => !left.includes(head)), RUNNERS_UP) : [];
    const note = nearly.length ? `With the ${nearly.length} other heads that are most accurate at ${relation.label}.` : null;
    this.list.show([...left, ...nearly], { followers: nearly.length, note });
  }

  // The reader chose a head, and wants to see it.
  pick(kind, index) {
    this.take(kind, index);
    this.announce();
  }

  // Open a head alone, or as the second of two.
  take(kind, index) {
    const first = this.opened[0];
    const second = (this.picking || this.opened.length === 2) && first && !(first.kind === kind && first.index === index);
    this.open(second ? [first, { kind, index }] : [{ kind, index }]);
  }

  get address() {
    return this.opened.map(({ kind, index }) => anchorOf(kind, index)).join("~");
  }

  open(heads, { tell = false } = {}) {
    this.picking = false;
    this.opened = heads;
    const last = heads.at(-1);
    if (last.kind !== this.kind) this.showKind(last.kind);
    const two = heads.length === 2;
    this.element.classList.toggle("at-comparing", two);
    const alike = two && heads[0].kind === heads[1].kind;
    const together = alike ? [] : null;
    this.cards.replaceChildren(
      ...(alike ? [comparedPart(heads[0].kind, heads[0].index, heads[1].index)] : []),
      ...heads.map(({ kind, index }, place) =>
        atlasCard(
          kind,
          index,
          {
            onOpen: (other, at) => this.pick(other, at),
            onCompare: two ? null : (other) => (other === undefined ? this.startPicking() : this.open([heads[0], { kind, index: other }], { tell: true })),
            onClose: two ? () => this.open([heads[1 - place]], { tell: true }) : null,
            onSentence: this.onSentence,
            wanted: this.filters.wantedShown,
          },
          { together },
        ),
      ),
    );
    this.mark();
    this.hint.show(this.opened, this.picking);
    if (tell) this.announce();
  }

  // Say which heads are open, and bring their cards into sight.
  announce() {
    this.onHead(this.address);
    this.reveal();
  }

  // Bring the card into sight where it is not.
  reveal() {
    // When two heads are open, the comparison is above their cards.
    const card = this.opened.length === 2 ? this.cards.firstElementChild : this.cards.lastElementChild;
    const box = card.getBoundingClientRect();
    if (box.top < 0 || box.top > window.innerHeight * 0.7) card.scrollIntoView({ block: "start", behavior: "smooth" });
  }

  mark() {
    const own = this.opened.filter(({ kind }) => kind === this.kind).map(({ index }) => index);
    this.map.open(own);
    if (own.length) this.grid.open(own[0], own[1]);
    this.map.tell(null);
  }

  startPicking() {
    this.picking = true;
    this.hint.show(this.opened, this.picking);
    this.hint.focus();
  }

  stopPicking() {
    this.picking = false;
    this.hint.show(this.opened, this.picking);
  }

  pressed(event) {
    if (event.key !== "Escape" || !this.picking) return;
    this.stopPicking();
  }

  show(anchor) {
    const heads = String(anchor || "").replace(/^#/, "").split("~").slice(0, 2).map(headAt).filter(Boolean);
    const [a, b] = heads;
    const same = b && a.kind === b.kind && a.index === b.index;
    if (heads.length) {
      this.open(same ? [a] : heads);
      this.reveal();
    } else if (!this.opened.length && data.kinds.length) this.open([headWorthOpening(this.heads)]);
  }

  destroy() {
    this.element.remove();
  }
}
