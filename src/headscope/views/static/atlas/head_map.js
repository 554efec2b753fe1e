// The head map: every head where its attention puts it, colored and shaped by role; likeness is nearness.
import { el, shape, svg } from "../core/dom.js";
import { findsOf, headNumber, lookOf } from "../report/data.js";
import { isNamed } from "../report/head_fact.js";
import { mapPlacesOf } from "./atlas_data.js";
import { describe } from "../report/grid.js";
import { layOutMap, placeNames, toward } from "./map_layout.js";

const MAP_WIDTH = 640;
const LETTER = 6.6;
const NAME_LINE = 14;
const MOST_NAMED = 200;
const FINDER = 1.3;

export class HeadMap {
  constructor(box, readout, onOpen) {
    this.box = box;
    this.readout = readout;
    this.onOpen = onOpen;
    this.keep = null;
    this.opened = [];
  }

  // Draw the heads of a kind; false where they have no places.
  show(kind) {
    this.kind = kind;
    this.opened = [];
    const where = mapPlacesOf(kind);
    if (!where) {
      this.places = [];
      this.marks = [];
      this.box.replaceChildren();
      return false;
    }
    const size = kind.roles.length > 600 ? 9 : kind.roles.length > 200 ? 12 : 17;
    const { places, height } = layOutMap(where.x, where.y, { width: MAP_WIDTH, least: 220, most: 430, mark: size });
    this.places = places;
    this.marks = places.map((place, index) => (place ? this.mark(place, index, size) : null));
    // Name heads that find a relation first, then heads with a role, then the others, while there is room.
    const worth = (index) => (findsOf(kind, index).length ? 0 : isNamed(kind, index) ? 1 : 2);
    const order = places.map((_, index) => index).sort((a, b) => worth(a) - worth(b) || a - b);
    const written = places.map((_, index) => this.namesOf(index));
    const names = placeNames(written, places, { mark: size * FINDER, letter: LETTER, line: NAME_LINE, width: MAP_WIDTH, height }, order);
    this.names = names.map((at, index) => at && svg("text", { class: worth(index) ? "at-name" : "at-name at-name-finds", x: at.x, y: at.y, "text-anchor": at.anchor }, at.name));
    this.rings = [0, 1].map((i) => svg("rect", { class: `at-ring at-ring-${i}`, width: size + 6, height: size + 6, rx: 6, visibility: "hidden" }));
    this.size = size;
    this.picture = svg(
      "svg",
      {
        class: "at-map",
        viewBox: `0 0 ${MAP_WIDTH} ${height}`,
        role: "group",
        "aria-label": `Map of ${kind.roles.length} heads; near means alike. Arrow keys move, Enter opens a head's card`,
        onclick: (event) => this.hit(event, (index) => this.onOpen(index)),
        onkeydown: (event) => this.pressed(event),
        onmouseover: (event) => this.hit(event, (index) => this.tell(index)),
        onfocusin: (event) => this.hit(event, (index) => this.tell(index)),
        onmouseleave: () => this.tell(null),
        onfocusout: () => this.tell(null),
      },
      this.rings,
      // Those that find something lie over the others.
      order.toReversed().map((index) => this.marks[index]).filter(Boolean),
      svg("g", { "aria-hidden": "true" }, this.names.filter(Boolean)),
    );
    this.box.replaceChildren(el("div", { class: "at-map-box" }, this.picture));
    this.paint();
    this.rove(Math.max(0, this.marks.findIndex(Boolean)));
    return true;
  }

  // "3-1 obj, xcomp", or less of it, and of the others the number alone where they are not too many.
  namesOf(index) {
    const found = findsOf(this.kind, index).map((one) => one.name);
    const number = headNumber(this.kind, index);
    if (!found.length) return this.kind.roles.length > MOST_NAMED ? [] : [number];
    const more = (named) => (found.length > named ? ` +${found.length - named}` : "");
    return [`${number} ${found.slice(0, 2).join(", ")}${more(2)}`, `${number} ${found[0]}${more(1)}`, number];
  }

  mark([x, y], index, usual) {
    const role = lookOf(this.kind, index).name;
    const size = findsOf(this.kind, index).length ? usual * FINDER : usual;
    const half = size / 2;
    const picture = shape(role);
    const inset = size * 0.22;
    const finds = [...new Set(findsOf(this.kind, index).map((one) => one.role))];
    for (const [name, value] of Object.entries({ x: x - half + inset, y: y - half + inset, width: size - 2 * inset, height: size - 2 * inset })) picture.setAttribute(name, value);
    return svg(
      "g",
      { class: `at-mark role-${role}${finds.length ? " at-finder" : ""}`, role: "button", tabindex: -1, "data-index": index, "aria-label": describe(this.kind, index) },
      svg("rect", { x: x - half, y: y - half, width: size, height: size, rx: 4 }),
      picture,
      finds.map((name, i) => svg("circle", { class: `at-finds role-${name}`, cx: x + (i ? -half : half), cy: y + half, r: size * 0.34 })),
    );
  }

  paint() {
    this.marks.forEach((mark, index) => {
      const off = Boolean(this.keep && !this.keep(index));
      if (mark) mark.classList.toggle("at-off", off);
      if (this.names[index]) this.names[index].classList.toggle("at-off", off);
    });
  }

  // Ring the opened heads, one or two.
  open(indices) {
    this.opened = indices;
    if (!this.marks.length) return;
    this.rings.forEach((ring, i) => {
      const place = indices[i] !== undefined && this.places[indices[i]];
      ring.setAttribute("visibility", place ? "visible" : "hidden");
      if (!place) return;
      const size = this.size * (findsOf(this.kind, indices[i]).length ? FINDER : 1) + 8;
      for (const [name, value] of Object.entries({ x: place[0] - size / 2, y: place[1] - size / 2, width: size, height: size })) ring.setAttribute(name, value);
    });
    this.marks.forEach((mark, index) => mark && mark.setAttribute("aria-pressed", String(indices.includes(index))));
    if (indices.length && this.marks[indices[0]] && !this.picture.contains(document.activeElement)) this.rove(indices[0]);
  }

  tell(index) {
    const at = index === null ? this.opened[0] : index;
    this.readout.textContent = at === undefined ? "Point at a head to name it; click to open its card." : describe(this.kind, at);
  }

  hit(event, act) {
    const mark = event.target.closest("[data-index]");
    if (mark) act(Number(mark.dataset.index));
  }

  rove(index) {
    if (this.roving !== undefined && this.marks[this.roving]) this.marks[this.roving].setAttribute("tabindex", -1);
    this.roving = index;
    if (this.marks[index]) this.marks[index].setAttribute("tabindex", 0);
  }

  pressed(event) {
    const at = Number(event.target.dataset.index);
    if (Number.isNaN(at)) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.onOpen(at);
      return;
    }
    const ends = { Home: this.marks.findIndex(Boolean), End: this.marks.findLastIndex(Boolean) };
    const to = event.key.startsWith("Arrow") ? toward(this.places, at, event.key) : ends[event.key];
    if (to === undefined) return;
    event.preventDefault();
    if (to === null) return;
    this.rove(to);
    this.marks[to].focus();
  }
}
