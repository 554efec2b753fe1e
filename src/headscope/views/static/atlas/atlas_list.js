// The heads that are left, as a list to be sorted by a statistic or by how well they find a relation.
import { el, shape } from "../core/dom.js";
import { anchorOf, cellOf, data, findsOf, lookOf, statisticNamed } from "../report/data.js";
import { accuracyOf, atlas, relationNamed, showingNamed, showingOf } from "./atlas_data.js";
import { isNamed, summaryOf } from "../report/head_fact.js";
import { tableInterval, tableNumber } from "../core/format.js";

const FIRST_ROWS = 60;

// Measures of any size have three digits.
const written = (value, { share, unit }) => (unit ? String(Number(value.toPrecision(3))) : tableNumber(value, share));

export function nameOf({ kind, number }) {
  return data.kinds.length > 1 ? `${kind.kind} ${number}` : number;
}

export class AtlasList {
  constructor(onOpen) {
    this.onOpen = onOpen;
    this.measure = "";
    this.down = true;
    this.most = FIRST_ROWS;
    const relations = atlas.relations.filter(({ overall }) => !overall);
    const topics = {};
    for (const one of data.measures || []) (topics[one.topic] = topics[one.topic] || []).push(one);
    const option = ({ name, label }) => el("option", { value: `statistic ${name}` }, label);
    this.select = el(
      "select",
      { onchange: () => this.sortBy(this.select.value) },
      el("option", { value: "" }, "layer and head"),
      el("optgroup", { label: "What it looks at" }, data.statistics.map(option)),
      relations.length ? el("optgroup", { label: "How well it finds" }, relations.map(({ name, label, says }) => el("option", { value: `relation ${name}` }, says ? `${label}: ${says}` : label))) : null,
      Object.entries(topics).map(([label, measures]) => el("optgroup", { label }, measures.map(option))),
    );
    this.turn = el("button", { type: "button", class: "at-button", onclick: () => this.turnRound() });
    this.status = el("p", { class: "caption" });
    this.body = el("tbody");
    this.head = el("tr");
    this.table = el("table", { class: "at-table" }, el("thead", {}, this.head), this.body);
    this.element = el(
      "section",
      { class: "at-list", "aria-label": "List of heads" },
      el("div", { class: "at-list-top" }, el("h2", {}, "List"), el("label", {}, "Sort by ", this.select), this.turn),
      el("div", { class: "at-scroll", tabindex: 0, role: "region", "aria-label": "Heads in the list" }, this.table),
      this.status,
    );
  }

  sortBy(measure) {
    this.measure = measure;
    this.down = true;
    this.show(this.heads, this.more);
  }

  turnRound() {
    this.down = !this.down;
    this.show(this.heads, this.more);
    this.turn.focus();
  }

  // {label, share, unit, of(head)}: the number that rows are sorted by; null for layer and head.
  chosen() {
    const [what, ...rest] = this.measure.split(" ");
    const name = rest.join(" ");
    if (what === "statistic") {
      const { label, share, unit } = statisticNamed(name);
      const showing = showingNamed(name);
      return { label, share, unit, of: ({ kind, index }) => (showing ? showingOf(showing, kind, index) : cellOf(kind, name, index)) };
    }
    const relation = what === "relation" && relationNamed(name);
    return relation ? { label: `finds ${relation.label}`, share: true, of: ({ kind, index }) => accuracyOf(relation, kind, index) } : null;
  }

  // List the heads. The last `followers` of them do not match the search but come near: they stay last, below `note`.
  show(heads, { followers = 0, note = null } = {}) {
    this.heads = heads;
    this.more = { followers, note };
    this.select.value = this.measure;
    const measure = this.chosen();
    this.turn.hidden = !measure;
    this.turn.textContent = this.down ? "↓ most first" : "↑ least first";
    const rows = heads.map((head, place) => ({ head, place, follows: place >= heads.length - followers, number: measure && measure.of(head) }));
    if (measure) {
      const value = ({ number }) => (number ? number.value : null);
      rows.sort((a, b) => {
        if (a.follows !== b.follows) return a.follows - b.follows;
        const [x, y] = [value(a), value(b)];
        if (x === null || y === null) return (x === null) - (y === null) || a.place - b.place;
        return (this.down ? y - x : x - y) || a.place - b.place;
      });
    }
    const several = data.kinds.length > 1;
    const finding = atlas.relations.length > 0;
    this.first = rows.length ? rows[0].head : null;
    this.head.replaceChildren(
      ...[el("th", { scope: "col" }, "Head"), el("th", { scope: "col" }, data.looks ? "Looks at" : "Role"), finding ? el("th", { scope: "col" }, "Finds") : null, measure ? el("th", { scope: "col", class: "at-number" }, measure.label, el("small", {}, measure.share ? " %" : ` ${measure.unit || "nats"}`)) : null].filter(Boolean),
    );
    this.body.replaceChildren(...rows.slice(0, this.most).map((row) => this.row(row, measure, finding, several)));
    const left = rows.length - this.most;
    const rest = left > 0 ? [` ${left.toLocaleString("en")} more: `, el("button", { type: "button", class: "at-button", onclick: () => this.showMore() }, "show them")] : [];
    this.status.replaceChildren(note || "", ...rest);
  }

  showMore() {
    this.most = this.heads.length;
    this.show(this.heads, this.more);
    this.most = FIRST_ROWS;
  }

  row({ head, number }, measure, finding) {
    const { kind, index } = head;
    const role = lookOf(kind, index);
    const open = (event) => {
      event.preventDefault();
      event.stopPropagation();
      this.onOpen(kind, index);
    };
    return el(
      "tr",
      {},
      el("th", { scope: "row" }, el("a", { class: "head", href: `#${anchorOf(kind, index)}`, onclick: open }, nameOf(head))),
      el("td", { class: "words" }, el("span", { class: `mark role-${role.name}` }, shape(role.name)), isNamed(kind, index) ? role.label : summaryOf(kind, index)[0]),
      finding ? el("td", { class: "words" }, findsOf(kind, index).map((one) => one.name).join(", ")) : null,
      measure ? el("td", { class: "at-number" }, number ? written(number.value, measure) : "–", number && tableInterval(number, measure.share) ? el("small", {}, tableInterval(number, measure.share)) : null) : null,
    );
  }
}
