// The page of checkpoints: a grid to step through, and the curves of the opened head.
import { el, svg } from "../core/dom.js";
import { amount } from "../core/format.js";
import { kindButtons, nats, numberOf, PairGrids } from "./compare_grid.js";

const at = (id) => document.getElementById(id);
const data = JSON.parse(at("comparison").textContent);
const [WIDTH, HEIGHT, LEFT, BOTTOM] = [300, 130, 62, 22];
// A curve of shares spans at least this much, so that a small change looks small.
const LEAST_SPAN = 0.1;
const card = at("pair");

const grids = new PairGrids([at("grid-A")], at("readout"), (head) => showHead(head));
grids.described = (head) => `Head ${numberOf(grids.kind.first, head.first)} in ${data.names[step()]}: ${nats(head.change)} nats from ${data.names.at(-1)}, ${head.verdict}`;

const step = () => Number(at("step").value);

function set(kind) {
  for (const head of kind.pairs) {
    const [change, , , verdict] = head.changes[step()];
    Object.assign(head, { change, verdict: verdict || "not tested", framed: verdict === "changed" });
  }
  at("step-name").textContent = data.names[step()];
}

function showKind(kind) {
  const top = Math.max(...kind.pairs.flatMap((head) => head.changes.map(([change]) => change)), 1e-9);
  at("scale").textContent = `0 to ${nats(top)} nats from ${data.names.at(-1)}`;
  set(kind);
  grids.show(kind);
  grids.paint(top);
  grids.open(kind.pairs.reduce((most, head) => (head.changes[0][0] > most.changes[0][0] ? head : most)));
  at("step").oninput = () => {
    set(kind);
    grids.paint(top);
  };
}

function showHead(head) {
  const name = numberOf(grids.kind.first, head.first);
  const last = data.names.at(-1);
  const settled = head.settled === data.names.length ? `Not shown to be the same as in ${last} in the checkpoint before it` : `Attends as in ${last} from ${data.names[head.settled - 1]} on`;
  const changes = head.changes.map(([value, low, high]) => [value, low, high]);
  card.replaceChildren(
    el("h2", {}, `${grids.kind.label} ${name}`),
    el("p", { class: "role" }, `${settled}.`),
    el("div", { class: "drawn" }, curve(`Divergence from ${last}, nats`, changes, nats, 0, data.margin), head.measures.map((each) => curve(each.label, each.values, (value) => amount(value, each.share), LEAST_SPAN))),
    el("p", { class: "caption" }, "Bands: 95% intervals of the difference from the last checkpoint. Dashed: the margin below which heads count as the same."),
  );
}

const cut = (name) => (name.length > 18 ? `…${name.slice(-17)}` : name);

// A value over checkpoints, with the band of its 95% intervals. `least`: smallest span of the axis; `line`: a marked value.
function curve(label, values, told, least, line = null) {
  const known = values.flat().filter((value) => value !== null);
  const [lowest, highest] = [Math.min(...known, line ?? Infinity), Math.max(...known, line ?? -Infinity)];
  const low = Math.max(0, lowest - Math.max(0, least - (highest - lowest)) / 2);
  const high = Math.max(highest, low + least);
  const x = (place) => LEFT + 8 + (place * (WIDTH - LEFT - 20)) / Math.max(values.length - 1, 1);
  const y = (value) => 10 + ((HEIGHT - BOTTOM - 16) * (high - value)) / Math.max(high - low, 1e-12);
  const points = values.map(([value], place) => `${x(place).toFixed(1)},${y(value).toFixed(1)}`);
  const ends = values.map(([value, from, to], place) => [x(place), y(from ?? value), y(to ?? value)]);
  const band = [...ends.map(([a, b]) => [a, b]), ...ends.toReversed().map(([a, , c]) => [a, c])].map((pair) => pair.map((each) => each.toFixed(1)).join(",")).join(" ");
  const dots = values.map(([value, from, to], place) =>
    svg("circle", { cx: x(place), cy: y(value), r: 3.5 }, svg("title", {}, `${data.names[place]}: ${told(value)}${from === null ? "" : ` (${told(from)} to ${told(to)})`}`)),
  );
  const text = (content, more) => svg("text", more, content);
  const drawing = svg(
    "svg",
    { class: "curve", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${label}: ${values.map(([value], place) => `${told(value)} in ${data.names[place]}`).join(", ")}` },
    svg("polygon", { class: "band", points: band }),
    line === null ? null : svg("line", { class: "margin", x1: LEFT, x2: WIDTH, y1: y(line), y2: y(line) }, svg("title", {}, `margin: ${told(line)}`)),
    svg("polyline", { points: points.join(" ") }),
    dots,
    text(told(high), { x: LEFT - 2, y: y(high) + 4, "text-anchor": "end" }),
    text(told(low), { x: LEFT - 2, y: y(low) + 4, "text-anchor": "end" }),
    text(cut(data.names[0]), { x: LEFT, y: HEIGHT - 6 }),
    text(cut(data.names.at(-1)), { x: WIDTH, y: HEIGHT - 6, "text-anchor": "end" }),
  );
  return el("div", {}, el("h3", {}, label), drawing);
}

const chooseKind = kindButtons(at("kinds"), data.kinds, showKind);
chooseKind(data.kinds[0]);
