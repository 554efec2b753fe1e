// Python that draws the same view again.
import { OFFERED } from "./list.js";

// `call`: arguments of the call that made the view; `hash`: the current state. A state's text needs no escapes.
export function figureCode(view, hash, call) {
  // Python has no view of all at once. A view without a function of its own opens by the state.
  const state = view.gathers ? hash.replace(`view=${view.name}`, `view=${OFFERED[0]}`) : hash;
  return `import headscope as hs\n\nhs.${view.call || "head_view"}(${call}, state="${state}")\n`;
}
