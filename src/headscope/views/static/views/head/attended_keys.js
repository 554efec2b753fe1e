// The tokens that a pinned token attends to, as buttons, for the panels below the head view.
import { el } from "../../core/dom.js";
import { percent } from "../../core/format.js";
import { focusOf } from "./head_scene.js";
import { tokenAt } from "../frame.js";
import { toldToken } from "../telling.js";
import { topPlaces } from "./edges.js";

const LEAST = 0.01;

// At most `most` keys, {at, label, share}, the largest share first.
export function attendedKeys(frame, place, most) {
  const { mean } = focusOf(frame, "query", place);
  return topPlaces(mean, most, LEAST).map((key) => ({ at: tokenAt(frame, "key", key).at, label: frame.labels.key[key], share: mean[key] }));
}

// What was chosen of one token is not chosen of another.
export function chosenKey(keys, query, chosen) {
  return keys.find(({ at }) => chosen && chosen.query === query && chosen.key === at) || keys[0];
}

export function keyChoice(label, keys, key, choose) {
  if (!key) return el("p", {}, `${toldToken(label)} attends to no token with ${percent(LEAST)} or more.`);
  const button = (one) => el("button", { type: "button", class: "hs-plain", "aria-pressed": String(one === key), onclick: () => choose(one.at) }, `${toldToken(one.label)} ${percent(one.share)}`);
  return el("p", { class: "hs-keys", role: "group", "aria-label": "Token attended to" }, `${toldToken(label)} attends to `, keys.map(button));
}
