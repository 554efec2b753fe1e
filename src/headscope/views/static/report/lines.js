// A head on a sentence: queries left, keys right, weight as opacity. Hover or focus a token to see its attention alone.
import { el, svg } from "../core/dom.js";
import { percent } from "../core/format.js";

const WIDTH = 400;
const LEFT = 126;
const RIGHT = 274;
const FAINTEST = 0.012;

// `marked`: pairs [query, key] whose lines are drawn heavier, and their tokens bold. `kept`: the key that is alone while no
// token is pointed at.
export function lineDiagram(map, role, title, marked = [], kept = null) {
  const { queries, keys, weights } = map;
  const rows = Math.max(queries.length, keys.length);
  const step = rows > 24 ? 16 : rows > 16 ? 18 : 20;
  const y = (place) => place * step + step / 2;
  const strokes = [];
  weights.forEach((row, query) =>
    row.forEach((weight, key) => {
      if (weight < FAINTEST) return;
      const line = svg("line", { x1: LEFT + 8, y1: y(query), x2: RIGHT - 8, y2: y(key), "stroke-opacity": Math.min(weight, 1).toFixed(3) });
      strokes.push({ query, key, weight, line });
    }),
  );
  strokes.sort((a, b) => a.weight - b.weight);
  const note = (place) => svg("text", { class: "share", x: WIDTH, y: y(place), "text-anchor": "end" });
  const notes = { query: queries.map((_, i) => svg("text", { class: "share", x: 0, y: y(i) })), key: keys.map((_, i) => note(i)) };
  const sides = { query: [], key: [] };

  function isolate(side, place) {
    const other = side === "query" ? "key" : "query";
    clear();
    for (const stroke of strokes) stroke.line.classList.toggle("away", stroke[side] !== place);
    sides[side][place].classList.add("on");
    sides[other].forEach((text, i) => {
      const weight = side === "query" ? weights[place][i] : weights[i][place];
      text.classList.toggle("dim", weight < 0.02);
      if (weight >= 0.02) notes[other][i].textContent = percent(weight);
    });
  }

  function clear() {
    for (const { line } of strokes) line.classList.remove("away");
    for (const text of [...sides.query, ...sides.key]) text.classList.remove("on", "dim");
    for (const text of [...notes.query, ...notes.key]) text.textContent = "";
  }

  function rest() {
    clear();
    if (kept !== null) isolate("key", kept);
  }

  function token(side, place, [drawn, whole]) {
    const row = side === "query" ? weights[place] : weights.map((line) => line[place]);
    const names = side === "query" ? keys : queries;
    const best = row.map((weight, i) => [weight, names[i][0]]).sort((a, b) => b[0] - a[0]).slice(0, 3).filter(([weight]) => weight >= 0.02);
    const told = best.map(([weight, name]) => `${percent(weight)} ${side === "query" ? "to" : "from"} ${name}`).join(", ");
    const text = svg(
      "text",
      {
        class: "token",
        x: side === "query" ? LEFT : RIGHT,
        y: y(place),
        "text-anchor": side === "query" ? "end" : "start",
        tabindex: side === "query" && place === 0 ? 0 : -1,
        role: "img",
        "aria-label": `${drawn}: ${told || "no weight of 2% or more"}`,
        onmouseenter: () => isolate(side, place),
        onmouseleave: rest,
        onfocus: () => isolate(side, place),
        onblur: rest,
        onclick: () => text.focus(),
      },
      drawn,
    );
    if (whole) text.append(svg("title", {}, whole));
    return text;
  }

  const heavy = new Set(marked.map(([query, key]) => `${query} ${key}`));
  for (const { query, key, line } of strokes) line.classList.toggle("marked", heavy.has(`${query} ${key}`));
  queries.forEach((pair, i) => sides.query.push(token("query", i, pair)));
  keys.forEach((pair, i) => sides.key.push(token("key", i, pair)));
  for (const [query, key] of marked) [sides.query[query], sides.key[key]].forEach((text) => text.classList.add("marked"));

  function walk(event) {
    const side = ["query", "key"].find((name) => sides[name].includes(event.target));
    if (!side) return;
    const at = sides[side].indexOf(event.target);
    const across = side === "query" ? "key" : "query";
    const to = {
      ArrowUp: sides[side][at - 1],
      ArrowDown: sides[side][at + 1],
      ArrowLeft: side === "key" ? sides[across][Math.min(at, sides[across].length - 1)] : undefined,
      ArrowRight: side === "query" ? sides[across][Math.min(at, sides[across].length - 1)] : undefined,
      Home: sides[side][0],
      End: sides[side].at(-1),
    }[event.key];
    if (event.key === "Escape") rest();
    if (!to) return;
    event.preventDefault();
    event.target.setAttribute("tabindex", "-1");
    to.setAttribute("tabindex", "0");
    to.focus();
  }

  rest();
  const drawing = svg(
    "svg",
    { class: `lines role-${role}`, viewBox: `0 0 ${WIDTH} ${rows * step}`, role: "group", "aria-label": title, onkeydown: walk },
    svg("g", { class: "strokes" }, strokes.map(({ line }) => line)),
    sides.query,
    sides.key,
    notes.query,
    notes.key,
  );
  return el("div", { class: "diagram" }, drawing);
}
