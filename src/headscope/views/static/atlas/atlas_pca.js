// Where tokens lie along the first two principal directions of a head's output, queries or keys: a map on its card. The same
// tokens are on the maps of all heads; one that is chosen is ringed on all that are open.
import { el, svg } from "../core/dom.js";
import { data, headTitle } from "../report/data.js";
import { atlas, pcaOf } from "./atlas_data.js";
import { writtenRow } from "./atlas_words.js";
import { placeNames, toward } from "./map_layout.js";

const WIDTH = 460;
const HEIGHT = 300;
const EDGE = { left: 24, right: 10, top: 10, bottom: 24 };
const MARK = 11;
// With more tokens than this, marks are smaller.
const CROWDED = 40;
const NAMES = { mark: MARK, letter: 6.2, line: 13, width: WIDTH, height: HEIGHT - EDGE.bottom };
const LONGEST_NAME = 12;
const MANY = 512;
const SIDES = { output: "its output", query: "its queries", key: "its keys" };
const COLORS = { class: "class of token", position: "position", length: "length of the vector" };
// Class of token -> color and outline, so that color is never the only difference.
const LOOKS = {
  words: ["previous", "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0Z"],
  "period or comma": ["next", "M-4.5 -4.5H4.5V4.5H-4.5Z"],
  "other punctuation": ["cls", "M0 -6.2L6.2 0L0 6.2L-6.2 0Z"],
};
const OTHER_LOOK = ["broad", "M0 -6L5.4 4H-5.4Z"];

// Choices for all cards: the vectors, their coloring, and the tokens by kind and axis.
const chosen = { side: "output", color: "class", tokens: new Map() };
// The last that were drawn: no more cards are open at once.
const MOST_OPEN = 4;
let opened = [];

function drawAll() {
  opened = opened.filter(({ section }) => section.isConnected);
  for (const one of opened) one.draw();
}

const wordOf = ({ at, tokens }) => tokens[at][0];
const percent = (share) => (share === null ? "" : `, ${Math.round(100 * share)}% of the variance`);
const lookOf = (token) => LOOKS[token.class] || OTHER_LOOK;

// Steps to places on the page: one scale both ways.
function layOut(points) {
  const span = (name) => [Math.min(0, ...points.map((one) => one[name])), Math.max(0, ...points.map((one) => one[name]))];
  const [[left, right], [low, high]] = [span("x"), span("y")];
  const room = [WIDTH - EDGE.left - EDGE.right - 2 * MARK, HEIGHT - EDGE.top - EDGE.bottom - 2 * MARK];
  const scale = Math.min(room[0] / Math.max(1, right - left), room[1] / Math.max(1, high - low));
  const middle = [(EDGE.left + WIDTH - EDGE.right) / 2, (EDGE.top + HEIGHT - EDGE.bottom) / 2];
  const place = ({ x, y }) => [middle[0] + (x - (left + right) / 2) * scale, middle[1] - (y - (low + high) / 2) * scale];
  return { places: points.map(place), mean: place({ x: 0, y: 0 }) };
}

class DirectionMap {
  constructor(kind, index, sides) {
    Object.assign(this, { kind, index, sides });
    const select = (name, label, options) => {
      const own = el("select", { "data-choice": name, onchange: () => this.pick(name, own.value) }, Object.entries(options).map(([value, text]) => el("option", { value }, text)));
      this[`${name}Select`] = own;
      return el("label", {}, `${label} `, own);
    };
    const there = Object.fromEntries(sides.map(({ side }) => [side, SIDES[side]]));
    this.picture = el("div");
    this.key = el("p", { class: "caption at-direction-key" });
    this.told = el("div", { class: "at-direction-told", role: "status" });
    const choices = el("div", { class: "scatter-choices" }, select("side", "Of", there), select("color", "Color", COLORS));
    const caption = "Each mark is a random token of the text, the same for all heads, without special tokens. The axes are the first two principal directions over all tokens; the lines cross at the mean. Choose a token to find it on other maps.";
    this.section = el("section", { class: "at-pca" }, el("h3", {}, "Tokens along its directions"), choices, this.picture, this.key, this.told, el("p", { class: "caption" }, caption));
    opened = [...opened, this].slice(-MOST_OPEN);
    this.draw();
  }

  pick(name, value) {
    chosen[name] = value;
    drawAll();
  }

  // The tokens of an axis are the same for all heads of a kind.
  get axis() {
    return `${this.kind.kind} ${this.own.axis}`;
  }

  draw() {
    const { kind, index } = this;
    this.own = this.sides.find(({ side }) => side === chosen.side) || this.sides[0];
    const { points, shares, side } = this.own;
    [this.sideSelect.value, this.colorSelect.value] = [side, chosen.color];
    const { places, mean } = layOut(points);
    this.places = places;
    const most = chosen.color === "class" ? 1 : Math.max(1, ...points.map((one) => this.amountOf(one)));
    this.marks = points.map((one, at) => this.mark(one, at, most));
    this.tellKey(most);
    const bottom = HEIGHT - EDGE.bottom;
    const axes = [
      svg("path", { class: "scatter-line", d: `M${EDGE.left} ${mean[1].toFixed(1)}H${WIDTH - EDGE.right}M${mean[0].toFixed(1)} ${EDGE.top}V${bottom}` }),
      svg("text", { class: "scatter-tick", x: (EDGE.left + WIDTH) / 2, y: HEIGHT - 8, "text-anchor": "middle" }, `first direction${percent(shares[0])}`),
      svg("text", { class: "scatter-tick", transform: `translate(15 ${bottom / 2}) rotate(-90)`, "text-anchor": "middle" }, `second${percent(shares[1])}`),
    ];
    this.ring = svg("circle", { class: "at-ring", r: MARK, visibility: "hidden" });
    const within = this.picture.contains(document.activeElement);
    const says = `${headTitle(kind, index)}: ${points.length} tokens along the first two directions of ${SIDES[side]}. Arrow keys move, Enter chooses a token`;
    this.picture.replaceChildren(
      svg(
        "svg",
        {
          class: "scatter at-direction-map",
          viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
          role: "group",
          "aria-label": says,
          onclick: (event) => this.pointed(event, (at) => this.choose(at)),
          onmousemove: (event) => this.pointed(event, (at) => this.tell(at)),
          onfocusin: (event) => this.tell(Number(event.target.dataset.token)),
          onmouseleave: () => this.tell(this.chosen),
          onfocusout: () => this.tell(this.chosen),
          onkeydown: (event) => this.pressed(event),
        },
        svg("g", { "aria-hidden": "true" }, axes),
        this.marks,
        svg("g", { "aria-hidden": "true" }, this.names(points), this.ring),
      ),
    );
    const at = this.chosen;
    this.marks.forEach((mark, place) => mark.setAttribute("aria-pressed", String(place === at)));
    if (at !== null) {
      this.ring.setAttribute("visibility", "visible");
      this.ring.setAttribute("cx", places[at][0]);
      this.ring.setAttribute("cy", places[at][1]);
    }
    this.rove(at === null ? 0 : at);
    if (within) this.marks[this.roving].focus();
    this.tell(at);
  }

  get chosen() {
    const at = chosen.tokens.get(this.axis);
    return at === undefined || at >= this.own.points.length ? null : at;
  }

  amountOf({ token, length }) {
    return chosen.color === "position" ? token.position : length;
  }

  mark(one, at, most) {
    const [role, outline] = lookOf(one.token);
    const [x, y] = this.places[at];
    const amount = chosen.color === "class" ? null : Math.round((100 * this.amountOf(one)) / most);
    return svg("path", {
      class: `scatter-point ${amount === null ? `role-${role}` : "amount"}`,
      d: outline,
      transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})${this.places.length > CROWDED ? " scale(.75)" : ""}`,
      style: amount === null ? null : `--amount:${amount}%`,
      role: "button",
      tabindex: -1,
      "data-token": at,
      "aria-label": `${wordOf(one.token)}, ${one.token.class}, position ${one.token.position}`,
    });
  }

  // Label marks with their words while there is room, those furthest from the mean first.
  names(points) {
    const far = points.map(({ x, y }) => x * x + y * y);
    const order = points.map((_, at) => at).sort((a, b) => far[b] - far[a] || a - b);
    const words = points.map(({ token }) => (wordOf(token).length > LONGEST_NAME ? null : wordOf(token)));
    return placeNames(words, this.places, NAMES, order).filter(Boolean).map(({ name, x, y, anchor }) => svg("text", { class: "at-name", x: x.toFixed(1), y: y.toFixed(1), "text-anchor": anchor }, name));
  }

  tellKey(most) {
    if (chosen.color !== "class") {
      const told = chosen.color === "position" ? `from the start of its input to position ${most}` : "from 0 to that of the longest";
      this.key.replaceChildren(`From faint to strong: ${COLORS[chosen.color]}, ${told}.`);
      return;
    }
    const there = [...new Set(this.own.points.map(({ token }) => token.class))];
    const one = (name) => {
      const [role, outline] = lookOf({ class: name });
      return el("span", { class: "at-direction-class" }, svg("svg", { class: `role-${role}`, viewBox: "-7 -7 14 14", "aria-hidden": "true" }, svg("path", { class: "scatter-point", d: outline })), name);
    };
    this.key.replaceChildren(...there.map(one));
  }

  tell(at) {
    if (at === null) {
      this.told.replaceChildren(el("p", { class: "at-soft" }, "Point at a token for its sentence."));
      return;
    }
    const { token } = this.own.points[at];
    this.told.replaceChildren(el("p", { class: "at-row-words" }, writtenRow(token)), el("p", { class: "at-soft at-row-told" }, `${token.class}, at position ${token.position} of its input`));
  }

  choose(at) {
    if (this.chosen === at) chosen.tokens.delete(this.axis);
    else chosen.tokens.set(this.axis, at);
    drawAll();
  }

  // Among overlapping marks, choose the one whose center is nearest to the pointer.
  pointed(event, act) {
    const mark = event.target.closest("[data-token]");
    if (!mark) return;
    const box = event.currentTarget.getBoundingClientRect();
    const [x, y] = [((event.clientX - box.left) * WIDTH) / box.width, ((event.clientY - box.top) * HEIGHT) / box.height];
    const far = this.places.map((place) => Math.hypot(place[0] - x, place[1] - y));
    // A click without a pointer is that of an assistive tool.
    act(event.type === "click" && !event.detail ? Number(mark.dataset.token) : far.indexOf(Math.min(...far)));
  }

  rove(at) {
    if (this.marks[this.roving]) this.marks[this.roving].setAttribute("tabindex", -1);
    this.roving = at;
    this.marks[at].setAttribute("tabindex", 0);
  }

  pressed(event) {
    const at = this.marks.indexOf(event.target);
    if (at < 0) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.rove(at);
      this.choose(at);
      return;
    }
    const ends = { Home: 0, End: this.marks.length - 1 };
    const to = event.key.startsWith("Arrow") ? toward(this.places, at, event.key) : ends[event.key];
    if (to === undefined) return;
    event.preventDefault();
    if (to === null) return;
    this.rove(to);
    this.marks[to].focus();
  }
}

function lacking(kind, sides) {
  if (sides) return "With this number of heads, only some layers were measured; this one was not.";
  if (atlas.missing.pca) return `This run measured no directions: ${atlas.missing.pca}.`;
  if (kind.roles.length > MANY) return `Of ${kind.roles.length} ${data.kinds.length > 1 ? `${kind.kind} ` : ""}heads: the maps of tokens are only in tables/directions_map.parquet.`;
  return "The model exposes only its attention weights, not queries, keys and outputs.";
}

export function pcaPart(kind, index) {
  const sides = pcaOf(kind, index);
  if (sides && sides.length) return new DirectionMap(kind, index, sides).section;
  return el("section", { class: "at-pca" }, el("h3", {}, "Tokens along its directions"), el("p", { class: "caption" }, lacking(kind, sides)));
}
