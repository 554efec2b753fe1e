// The strongest supported fact about a head, as the run's data has it: what opens its card, its readout and its line.
import { roleOf } from "./data.js";

// [name, rest]: "Finds obj", " (direct object): 74% of cases ...".
export function summaryOf(kind, index) {
  return kind.summaries[index];
}

export function hasRole(kind, index) {
  return Boolean(roleOf(kind, index).statistic);
}
