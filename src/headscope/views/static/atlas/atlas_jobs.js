// What a head does in the rows in which it is active: its jobs, each with its share, what tells it, and rows of it.
import { el } from "../core/dom.js";
import { isolatedToken } from "../core/token_text.js";
import { atlas, jobsOf } from "./atlas_data.js";
import { where } from "./atlas_tenths.js";

const drawn = ([short, whole]) => el("span", whole ? { title: whole } : {}, isolatedToken(short));
const percent = (share) => `${(100 * share).toFixed(0)}%`;

function row(one) {
  const words = one.tokens.flatMap((token, place) => [place === one.at ? el("mark", {}, drawn(token)) : drawn(token), " "]);
  return el("li", {}, el("p", { class: "at-row-words" }, words), el("p", { class: "at-soft at-row-told" }, "looked at ", el("b", {}, drawn(one.key)), `${where(one)} (${percent(one.weight)})`));
}

const telling = (says, tokens) => (tokens.length ? [says, tokens.flatMap((token) => [" ", el("b", {}, drawn(token))])] : null);

function job(one, alone) {
  const ends = one.low === null ? "" : ` (95% interval ${percent(one.low)} to ${percent(one.high)})`;
  const told = [telling("From", one.from), telling("At", one.at)].filter(Boolean);
  return el(
    "div",
    { class: "at-job" },
    el("p", { class: "at-told" }, alone ? `One job: ${one.says}` : `${percent(one.share)} of its active rows${ends}: ${one.says}`),
    told.length ? el("p", { class: "at-soft" }, told.flatMap((part, place) => [place ? "; " : "", part])) : null,
    el("ul", { class: "at-rows" }, one.rows.map(row)),
  );
}

export function jobsPart(kind, index) {
  const jobs = jobsOf(kind, index);
  const part = (...children) => el("section", { class: "at-jobs" }, el("h3", {}, "What it does where it is active"), children);
  if (!jobs) return part(el("p", { class: "caption" }, `This run looked for no jobs: ${atlas.missing.jobs || "ask for the stage jobs"}.`));
  if (!jobs.length) return part(el("p", { class: "caption" }, "This head is active in too few rows to tell."));
  return part(
    jobs.map((one) => job(one, jobs.length === 1)),
    el("p", { class: "caption" }, "It is active where more than half of its weight lies off the sink. Named are the tokens that tell a job from the head’s other rows, or, where it has one job, from those of other heads; the rows are drawn at random."),
  );
}
