// Gives the scripts the palette, which is a module on no disk: `node --import ./palette.mjs --test`, with its text in
// HEADSCOPE_PALETTE, as tests/views/test_scripts.py runs it.
import { register } from "node:module";

const hooks = `
const palette = "data:text/javascript," + encodeURIComponent(${JSON.stringify(process.env.HEADSCOPE_PALETTE || "")});
export function resolve(specifier, context, next) {
  return specifier.endsWith("/palette_data.js") ? { url: palette, shortCircuit: true } : next(specifier, context);
}`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
