// The table of all heads: sorted and filtered as data, written to the page a hundred rows at a time.
import { el, shape } from "../core/dom.js";
import { anchorOf, anythingFound, cellOf, data, findsOf, headNumber, lookOf, looks, sentenceOf } from "./data.js";
import { isSaid, phraseOf, phrasesSaid, wordsOf } from "./said.js";
import { tableInterval, tableNumber } from "../core/format.js";

const CHUNK = 100;
const MOST_PRINTED = 500;

function countOf(statistic) {
  const seen = data.kinds.flatMap((kind) => (kind.values[statistic.name] ? [kind.values[statistic.name].n].flat() : []));
  const known = seen.filter((n) => n > 0);
  if (!known.length) return "";
  const [least, most] = [known.reduce((a, b) => Math.min(a, b)), known.reduce((a, b) => Math.max(a, b))];
  return least === most ? `n ${most.toLocaleString("en")}` : `n ${least.toLocaleString("en")}–${most.toLocaleString("en")}`;
}

export class HeadTable {
  constructor(box, filters, status) {
    this.box = box;
    this.status = status;
    this.several = data.kinds.length > 1;
    this.finding = anythingFound();
    this.sort = { column: "head", down: false };
    this.rows = data.kinds.flatMap((kind, place) =>
      kind.roles.map((_, index) => ({
        kind,
        index,
        order: place * 1e6 + index,
        role: lookOf(kind, index),
        finds: findsOf(kind, index),
        says: phrasesSaid([sentenceOf(kind, index)].filter(Boolean)),
        cells: data.statistics.map((statistic) => cellOf(kind, statistic.name, index)),
      })),
    );
    this.filter = { text: "", role: "", kind: "" };
    this.controls(filters);
    this.frame();
    this.refresh();
    this.box.addEventListener("scroll", () => {
      if (this.box.scrollTop + this.box.clientHeight > this.box.scrollHeight - 400) this.more();
    });
    window.addEventListener("beforeprint", () => this.more(MOST_PRINTED));
  }

  controls(box) {
    const change = (name) => (event) => {
      this.filter[name] = event.target.value;
      this.refresh();
    };
    const options = (every, all) => [el("option", { value: "" }, all), ...every.map(([value, label]) => el("option", { value }, label))];
    const roles = looks.filter((role) => this.rows.some((row) => row.role === role)).map((role) => [role.name, role.label]);
    box.replaceChildren(
      el("label", {}, "Find ", el("input", { type: "search", id: "find-head", placeholder: this.rows.some(({ says }) => says.length) ? "3-7 or frequent" : "3- or 3-7", oninput: change("text") })),
      el("label", {}, "Role ", el("select", { id: "filter-role", onchange: change("role") }, options(roles, "all"))),
    );
    if (this.several) {
      const kinds = data.kinds.map((kind) => [kind.kind, kind.kind]);
      box.append(el("label", {}, "Attention ", el("select", { id: "filter-kind", onchange: change("kind") }, options(kinds, "all"))));
    }
  }

  frame() {
    const column = (name, label, unit, extra) =>
      el(
        "th",
        { scope: "col", "data-column": name, "aria-sort": "none" },
        el("button", { type: "button", onclick: () => this.sortBy(name) }, label),
        el("small", {}, [unit, extra].filter(Boolean).join(" · ")),
      );
    this.body = el("tbody");
    this.header = el(
      "tr",
      {},
      column("head", "Head", "", ""),
      column("role", data.looks ? "Looks at" : "Role", "", ""),
      this.finding ? column("finds", "Finds", "", "") : null,
      data.statistics.map((statistic, place) => column(String(place), statistic.label, statistic.share ? "%" : "nats", countOf(statistic))),
    );
    this.box.replaceChildren(el("table", { id: "table-heads" }, el("thead", {}, this.header), this.body));
  }

  sortBy(column) {
    const numeric = column !== "head" && column !== "role";
    this.sort = this.sort.column === column ? { column, down: !this.sort.down } : { column, down: numeric };
    this.refresh();
  }

  refresh() {
    const { column, down } = this.sort;
    const { text, role, kind } = this.filter;
    const wanted = text.trim().toLowerCase();
    const matches = (row) =>
      (!role || row.role.name === role) &&
      (!kind || row.kind.kind === kind) &&
      (!wanted || headNumber(row.kind, row.index).startsWith(wanted) || row.role.label.toLowerCase().includes(wanted) ||
        row.finds.some((one) => one.name.toLowerCase().includes(wanted)) || isSaid(row.says, phraseOf(wordsOf(wanted))));
    const key = {
      head: (row) => row.order,
      role: (row) => looks.indexOf(row.role),
      finds: (row) => row.finds.length || null,
    }[column] || ((row) => (row.cells[column] ? row.cells[column].value : null));
    this.shown = this.rows.filter(matches).sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      if (x === null || y === null) return (x === null) - (y === null) || a.order - b.order;
      return (down ? y - x : x - y) || a.order - b.order;
    });
    for (const th of this.header.children) {
      th.setAttribute("aria-sort", th.dataset.column === column ? (down ? "descending" : "ascending") : "none");
    }
    this.body.replaceChildren();
    this.box.scrollTop = 0;
    this.more();
  }

  more(count = CHUNK) {
    const from = this.body.children.length;
    this.body.append(...this.shown.slice(from, from + count).map((row) => this.row(row)));
    const written = this.body.children.length;
    const total = this.rows.length.toLocaleString("en");
    const matching = this.shown.length.toLocaleString("en");
    const rest = written < this.shown.length ? "; scroll the table for more" : "";
    this.status.textContent = this.shown.length === this.rows.length ? `${total} heads${rest}.` : `${matching} of ${total} heads${rest}.`;
  }

  row({ kind, index, role, finds, cells }) {
    const name = this.several ? `${kind.kind} ${headNumber(kind, index)}` : headNumber(kind, index);
    return el(
      "tr",
      {},
      el("th", { scope: "row" }, el("a", { class: "head", href: `#${anchorOf(kind, index)}` }, name)),
      el("td", { class: "words" }, el("span", { class: `mark role-${role.name}` }, shape(role.name)), role.label),
      this.finding ? el("td", { class: "words found-words" }, finds.map((one) => one.name).join(", ")) : null,
      cells.map((cell, place) => {
        const { share } = data.statistics[place];
        if (!cell) return el("td", {}, "–");
        return el("td", {}, tableNumber(cell.value, share), el("small", {}, tableInterval(cell, share)));
      }),
    );
  }
}
