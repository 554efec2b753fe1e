// A head's place among all heads of its kind: a tick for each head, its own mark with its interval, uniform attention dashed.
import { el, svg } from "../core/dom.js";
import { cellOf, data, pick } from "./data.js";
import { tableInterval, tableNumber } from "../core/format.js";

const LENGTH = 1000;
const HEIGHT = 18;
const BINS = 125;
const drawn = new Map();

function scaleOf(kind, { name, share }) {
  if (share) return 1;
  const { value, uniform } = kind.values[name];
  const even = (Array.isArray(uniform) ? uniform : [uniform]).filter((one) => one !== null);
  return 1.04 * Math.max(...value.filter((one) => one !== null), ...even, 1e-9);
}

// All heads' ticks of one statistic, as one path that every card shares; where several fall together it is taller.
function ticks(kind, statistic, top) {
  const key = `${kind.kind} ${statistic.name}`;
  if (!drawn.has(key)) {
    const counts = new Map();
    for (const value of kind.values[statistic.name].value) {
      if (value === null) continue;
      const x = Math.round((BINS * value) / top);
      counts.set(x, (counts.get(x) || 0) + 1);
    }
    const most = Math.max(...counts.values());
    const path = [...counts].map(([x, count]) => {
      const half = 3 + (HEIGHT / 2 - 3) * Math.sqrt((count - 1) / Math.max(most, 8));
      return `M${(x * LENGTH) / BINS} ${(HEIGHT / 2 - half).toFixed(1)}V${(HEIGHT / 2 + half).toFixed(1)}`;
    });
    drawn.set(key, path.join(""));
  }
  return drawn.get(key);
}

function strip(kind, statistic, index, rank) {
  const cell = cellOf(kind, statistic.name, index);
  if (!cell) return null;
  const top = scaleOf(kind, statistic);
  const x = (value) => ((LENGTH * value) / top).toFixed(1);
  const uniform = pick(kind.values[statistic.name].uniform, index);
  const fixed = { "vector-effect": "non-scaling-stroke" };
  const picture = svg(
    "svg",
    { viewBox: `0 0 ${LENGTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("path", { class: "base", d: `M0 ${HEIGHT / 2}H${LENGTH}`, ...fixed }),
    svg("path", { class: "others", d: ticks(kind, statistic, top), ...fixed }),
    uniform === null ? null : svg("path", { class: "even", d: `M${x(uniform)} 0V${HEIGHT}`, ...fixed }),
    cell.low === null ? null : svg("path", { class: "interval", d: `M${x(cell.low)} ${HEIGHT / 2}H${x(cell.high)}`, ...fixed }),
    svg("path", { class: "own", d: `M${x(cell.value)} 1V${HEIGHT - 1}`, ...fixed }),
  );
  const ends = tableInterval(cell, statistic.share);
  const even = uniform === null ? "" : `; uniform ${tableNumber(uniform, statistic.share)}`;
  const place = rank && rank(statistic.name);
  return el(
    "div",
    { class: "strip", title: `${statistic.label}: n = ${cell.n}${even}` },
    el("dt", {}, statistic.label),
    el("dd", { class: "picture" }, picture),
    el("dd", { class: "value" }, tableNumber(cell.value, statistic.share), el("small", {}, statistic.share ? "%" : " nats")),
    el("dd", { class: "ends" }, ends),
    place ? el("dd", { class: "rank", title: place.whole }, place.short) : null,
  );
}

// `rank(statistic)`: a head's rank among all heads, {short, whole}, if it is to be shown.
export function strips(kind, index, rank = null) {
  return el("dl", { class: "strips" }, data.statistics.map((statistic) => strip(kind, statistic, index, rank)).filter(Boolean));
}
