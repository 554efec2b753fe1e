// A role's shape on its color, so that color is never the only difference.
import { svg } from "./dom.js";
import { roleLabel, roleStyle } from "./theme.js";

export function roleMark(role, theme) {
  const { fill, on, shape } = roleStyle(role, theme.scheme);
  const box = { class: "hs-role", viewBox: "-3 -3 16 16", "aria-hidden": "true" };
  return svg("svg", box, svg("title", {}, roleLabel(role)), svg("rect", { x: -3, y: -3, width: 16, height: 16, rx: 3, fill }), svg("path", { d: shape, fill: on }));
}
