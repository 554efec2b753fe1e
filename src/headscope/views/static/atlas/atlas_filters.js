// Filters of heads: a search box, and chips of roles, relations and behaviors.
import { el, shape } from "../core/dom.js";
import { data, headNumber, looks } from "../report/data.js";
import { atlas } from "./atlas_data.js";
import { asksForHeads, isAskedFor, relationsAsked, showingsAsked, statisticAsked, understand, unmeasuredAsked } from "./head_search.js";

const PATIENCE_TO_TYPE = 120;
const MOST_ON_A_CHIP = 2;
// Why something is lacking of a run that has the table of it.
const NOT_THERE = { relations: "its treebank has fewer than 100 of them" };

export class AtlasFilters {
  // `heads`: from `allHeads`; `onChange()` hears of every change, `onEnter()` of Enter in the box.
  constructor(heads, onChange, onEnter) {
    this.heads = heads;
    this.onChange = onChange;
    this.onEnter = onEnter;
    this.roles = new Set();
    this.relations = new Set();
    this.showings = new Set();
    this.found = new Set(heads.flatMap((head) => [...head.finds, ...head.shows]));
    this.said = heads.flatMap(({ says }) => says);
    this.asked = understand("", []);
    this.input = el("input", {
      type: "search",
      placeholder: this.example(),
      autocomplete: "off",
      spellcheck: "false",
      oninput: () => {
        clearTimeout(this.typing);
        this.typing = setTimeout(() => this.ask(this.input.value), PATIENCE_TO_TYPE);
      },
    });
    this.chips = el("div", { class: "at-chips" });
    const form = el(
      "form",
      {
        role: "search",
        class: "at-search",
        onsubmit: (event) => {
          event.preventDefault();
          clearTimeout(this.typing);
          this.ask(this.input.value);
          this.onEnter();
        },
      },
      el("label", {}, el("span", {}, "Which head …"), this.input),
    );
    this.clear = el("button", { type: "button", class: "at-button", hidden: true, onclick: () => this.reset() }, "Show all heads");
    this.element = el("div", { class: "at-filters" }, form, this.chips);
    this.paint();
  }

  example() {
    const relation = atlas.relations.find(({ name }) => name === "obj") || atlas.relations.find(({ overall }) => !overall);
    const first = relation && relation.says ? `finds ${relation.says}s?` : "looks at the previous token?";
    return `${first}   comma   layer 3   2-5`;
  }

  ask(text) {
    this.asked = understand(text, atlas.vocabulary, this.said);
    this.changed();
  }

  reset() {
    this.roles.clear();
    this.relations.clear();
    this.showings.clear();
    this.input.value = "";
    this.ask("");
    this.input.focus();
  }

  toggle(set, name, label) {
    if (!set.delete(name)) set.add(name);
    this.changed();
    const chip = [...this.chips.querySelectorAll("button")].find((button) => button.dataset.name === label);
    if (chip) chip.focus();
  }

  changed() {
    this.paint();
    this.onChange();
  }

  // Whether anything narrows the heads.
  get active() {
    return this.roles.size > 0 || this.relations.size > 0 || this.showings.size > 0 || asksForHeads(this.asked) || this.asked.unknown.length > 0;
  }

  keeps(head) {
    if (this.roles.size && !this.roles.has(head.role)) return false;
    if (this.relations.size && ![...this.relations].some((name) => head.finds.includes(name))) return false;
    if (this.showings.size && ![...this.showings].some((name) => head.shows.includes(name))) return false;
    if (this.asked.unknown.length && !asksForHeads(this.asked)) return false;
    return isAskedFor(head, this.asked, this.found);
  }

  // The relations that chips and search box select.
  get wanted() {
    return [...new Set([...this.relations, ...relationsAsked(this.asked)])];
  }

  // The behaviors that chips and search box select.
  get wantedShown() {
    return [...new Set([...this.showings, ...showingsAsked(this.asked)])];
  }

  // The statistic of the search ("entropy"), or that of its only role.
  get statistic() {
    if (statisticAsked(this.asked)) return statisticAsked(this.asked);
    const roles = new Set([...this.roles, ...this.asked.terms.flatMap(({ meanings }) => meanings.filter(({ what }) => what === "role").map(({ name }) => name))]);
    const role = roles.size === 1 && data.roles.find(({ name }) => roles.has(name));
    return role ? role.statistic : null;
  }

  paint() {
    const chip = (set, name, label, role, count, title) =>
      el(
        "button",
        { type: "button", class: `key role-${role}`, "aria-pressed": String(set.has(name)), "data-name": name, title: title || null, onclick: () => this.toggle(set, name, name) },
        el("i", {}, shape(role)),
        `${label} `,
        el("b", {}, String(count)),
      );
    const roles = looks.map((role) => [role, this.heads.filter((head) => head.role === role.name).length]).filter(([, count]) => count);
    const relations = atlas.relations.map((relation) => [relation, this.namedOn(this.heads.filter((head) => head.finds.includes(relation.name)))]).filter(([, named]) => named);
    const showings = (atlas.showings || []).filter(({ searchable }) => searchable).map((showing) => [showing, this.namedOn(this.heads.filter((head) => head.shows.includes(showing.name)))]).filter(([, named]) => named);
    const group = (label, chips) => (chips.length ? el("div", { class: "at-group", role: "group", "aria-label": label }, el("span", { class: "at-group-name", "aria-hidden": "true" }, label), chips) : null);
    this.chips.replaceChildren(
      ...[
        group("Looks at", roles.map(([role, count]) => chip(this.roles, role.name, role.label, role.name, count))),
        group("Finds", relations.map(([relation, count]) => chip(this.relations, relation.name, relation.label, relation.role, count, relation.says))),
        group("Shows", showings.map(([showing, count]) => chip(this.showings, showing.name, showing.label, showing.role, count, showing.says))),
      ].filter(Boolean),
    );
    this.clear.hidden = !this.active;
  }

  // The heads of a chip; one or two heads are named: "3-1".
  namedOn(heads) {
    const name = ({ kind, index }) => (data.kinds.length > 1 ? `${kind.kind} ${headNumber(kind, index)}` : headNumber(kind, index));
    return heads.length > MOST_ON_A_CHIP ? `${heads.length} heads` : heads.map(name).join(", ");
  }

  // What cannot be answered, in words; "" where all was understood.
  trouble() {
    const { unknown } = this.asked;
    const without = unmeasuredAsked(this.asked);
    if (without.length) {
      const named = without.map(({ says, label }) => (says && label !== says ? `${label} (${says})` : label)).join(", ");
      const { missing } = atlas;
      const [{ missing: lacking }] = without;
      return `This run did not measure ${named}: ${missing[lacking] || NOT_THERE[lacking] || "it cannot occur in this text"}.`;
    }
    if (!unknown.length) return "";
    const named = unknown.map((word) => `“${word}”`).join(", ");
    const known = asksForHeads(this.asked) ? "; the rest of the search applies" : "";
    return `Nothing here is called ${named}${known}. ${this.askable()}`;
  }

  askable() {
    const relations = atlas.relations.filter(({ overall }) => !overall).slice(0, 4).map(({ says, label }) => (says ? `${says} (${label})` : label));
    const parts = [data.looks ? "an attention target (previous, next, nearby, punctuation, broad)" : "a role (previous, next, comma, broad)", (atlas.showings || []).length ? "a behavior (induction, duplicate, brackets)" : null, this.said.length ? "a word of explanations (frequent, nearby)" : null, relations.length ? `a relation (${relations.join(", ")})` : null, "a layer (layer 3)", "a head (2-5)"];
    return `Search for ${parts.filter(Boolean).join(", ").replace(/, ([^,]*)$/, " or $1")}.`;
  }
}
