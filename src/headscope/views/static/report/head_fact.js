// The strongest supported fact about a head, from the run's data: the first line of its card, readout and list entry.
import { UNNAMED, data, lookOf } from "./data.js";

// [name, rest]: "Finds obj", " (direct object): 74% of cases ...".
export function summaryOf(kind, index) {
  return kind.summaries[index];
}

// Whether its category says something of it: heads without a role are of the last one.
export function isNamed(kind, index) {
  return Boolean(data.looks) || lookOf(kind, index).name !== UNNAMED;
}
