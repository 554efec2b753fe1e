// What a head does in the rows in which it is active: a line a job, with its share; of the one that is chosen, the tokens
// that tell it, and rows of it.
import { upper } from "../core/format.js";
import { el, svg } from "../core/dom.js";
import { headTitle } from "../report/data.js";
import { atlas, jobsOf } from "./atlas_data.js";
import { where } from "./atlas_deciles.js";
import { drawnToken, writtenRow } from "./atlas_words.js";

const LENGTH = 1000;
const HEIGHT = 18;

const percent = (share) => `${(100 * share).toFixed(0)}%`;

function row(one) {
  return el("li", {}, el("p", { class: "at-row-words" }, writtenRow(one)), el("p", { class: "at-soft at-row-told" }, "looked at ", el("b", {}, drawnToken(one.key)), `${where(one)} (${percent(one.weight)})`));
}

const telling = (says, tokens) => (tokens.length ? [says, tokens.flatMap((token) => [" ", el("b", {}, drawnToken(token))])] : null);

// The tokens that tell a job, and its rows.
function told(one) {
  const parts = [telling("from", one.from), telling("at", one.at)].filter(Boolean);
  return [
    parts.length ? el("p", { class: "at-soft at-job-tokens" }, "Told by tokens ", parts.flatMap((part, place) => [place ? ", " : "", part])) : null,
    el("ul", { class: "at-rows" }, one.rows.map(row)),
  ].filter(Boolean);
}

// Its share of the head's active rows as a bar, with the interval.
function bar(one) {
  const x = (share) => (LENGTH * share).toFixed(0);
  const fixed = { "vector-effect": "non-scaling-stroke" };
  return svg(
    "svg",
    { viewBox: `0 0 ${LENGTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("path", { class: "base", d: `M0 ${HEIGHT / 2}H${LENGTH}`, ...fixed }),
    svg("rect", { x: 0, y: 4, width: x(one.share), height: HEIGHT - 8 }),
    one.low === null ? null : svg("path", { class: "at-ends", d: `M${x(one.low)} ${HEIGHT / 2}H${x(one.high)}`, ...fixed }),
  );
}

const ends = (one) => (one.low === null ? "" : `, 95% interval ${percent(one.low)} to ${percent(one.high)}`);

function several(kind, index, jobs, inWhat) {
  const shown = el("div", {});
  const status = el("p", { class: "at-told", role: "status" });
  const buttons = jobs.map((one, place) => {
    const says = { "aria-pressed": "false", title: `Job ${place + 1} of ${jobs.length}${ends(one)}` };
    return el("button", { type: "button", class: "at-job", ...says, onclick: () => show(place) }, bar(one), el("span", { class: "at-job-share" }, percent(one.share)), " ", el("span", {}, upper(one.description)));
  });

  function show(place) {
    for (const [other, button] of buttons.entries()) button.setAttribute("aria-pressed", String(other === place));
    status.replaceChildren(`Job ${place + 1} of ${jobs.length}: ${percent(jobs[place].share)} of its active rows${ends(jobs[place])}`);
    shown.replaceChildren(...told(jobs[place]));
  }

  show(0);
  return [el("div", { class: "at-job-list", role: "group", "aria-label": `${headTitle(kind, index)}: its jobs${inWhat}, by share of its active rows` }, buttons), status, shown];
}

// Its jobs in one corpus.
function inCorpus(kind, index, jobs, inWhat = "") {
  if (!jobs.length) return [el("p", { class: "caption" }, "This head is active in too few rows to tell.")];
  const one = jobs.length === 1;
  const than = one ? "Told are tokens that stand there more often than in the rows of other heads" : "The tokens tell a job from the head’s other rows";
  return [
    one ? [el("p", { class: "at-told" }, `One job: ${jobs[0].description}`), told(jobs[0])] : several(kind, index, jobs, inWhat),
    el("p", { class: "caption" }, `It is active where its non-sink attention is above 50%. ${than}; the rows shown are drawn at random. Marked: the token that attends.`),
  ];
}

export function jobsPart(kind, index) {
  const jobs = jobsOf(kind, index);
  const inTrees = jobsOf(kind, index, "treebank");
  return el(
    "section",
    { class: "at-jobs" },
    el("h3", {}, "What it does where it is active"),
    jobs ? inCorpus(kind, index, jobs) : el("p", { class: "caption" }, `This run looked for no jobs: ${atlas.missing.jobs || "ask for the stage jobs"}.`),
    inTrees ? [el("h3", {}, "The same in the treebank, by part of speech too"), inCorpus(kind, index, inTrees, " in the treebank")] : null,
  );
}
