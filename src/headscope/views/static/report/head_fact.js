// The strongest supported fact about a head, for the first line of its card, the grid's readout and the list: its role;
// without one the relation that it finds best, else the behavior with the largest share (in text before on controlled
// inputs), else its explanation.
import { findsOf, roleOf, showsOf } from "./data.js";
import { lower, tableInterval, tableNumber, upper } from "../core/format.js";

export const NO_FACT = "no supported pattern";

const strongest = (entries) => entries.reduce((best, each) => (best === null || (each.value ?? -1) > (best.value ?? -1) ? each : best), null);

// {verb, entry} of a head without a role: what it finds, else what it shows; null where that is nothing.
function factWithoutRole(kind, index) {
  const shows = showsOf(kind, index);
  const inText = shows.filter((each) => each.id.startsWith("behaviors."));
  for (const [verb, entries] of [["finds", findsOf(kind, index)], ["shows", inText], ["shows", shows]]) {
    const entry = strongest(entries);
    if (entry) return { verb, entry };
  }
  return null;
}

export function hasRole(kind, index) {
  return Boolean(roleOf(kind, index).statistic);
}

// "previous token", "finds obj", "shows local", "no supported pattern".
export function briefFact(kind, index) {
  if (hasRole(kind, index)) return lower(roleOf(kind, index).label);
  const fact = factWithoutRole(kind, index);
  return fact ? `${fact.verb} ${fact.entry.name}` : NO_FACT;
}

// The same for lists, whose roles have a capital.
export function listedFact(kind, index) {
  return hasRole(kind, index) ? roleOf(kind, index).label : briefFact(kind, index);
}

// The line of a head without a role: [bold, rest].
export function factLine(kind, index) {
  const fact = factWithoutRole(kind, index);
  if (!fact) {
    const explained = kind.explained && kind.explained[index];
    return explained ? ["", `${upper(explained)}.`] : [upper(NO_FACT), ": no relation, behavior or role passes its threshold."];
  }
  const { verb, entry } = fact;
  const bold = `${upper(verb)} ${entry.name}`;
  const says = entry.says ? ` (${entry.says})` : "";
  if (entry.value === null) return [bold, `${says}.`];
  const ends = tableInterval(entry, true);
  const interval = ends ? ` (95% interval ${ends.replace("–", " to ")}%)` : "";
  const where = verb === "finds" ? "of cases" : "of its attention";
  return [bold, `${says}: ${tableNumber(entry.value, true)}% ${where}${interval}.`];
}
