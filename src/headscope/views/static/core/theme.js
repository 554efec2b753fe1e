// The page's colors in each scheme, as values that a canvas and a saved picture need.
import { PALETTE } from "./palette_data.js";

export function themeOf(scheme) {
  const page = Object.fromEntries(Object.entries(PALETTE.page).map(([name, shade]) => [name, shade[scheme]]));
  const positive = PALETTE.roles.previous.line[scheme];
  const negative = PALETTE.roles.sep.line[scheme];
  return { scheme, ...page, shade: positive, positive, negative, generated: PALETTE.roles.syntax.line[scheme] };
}

export function roleLabel(role) {
  return PALETTE.roles[role] ? PALETTE.roles[role].label : role;
}

export function roleStyle(role, scheme) {
  const style = PALETTE.roles[role] || PALETTE.roles.mixed;
  return { fill: style.fill[scheme], line: style.line[scheme], on: style.on[scheme], shape: style.shape };
}
