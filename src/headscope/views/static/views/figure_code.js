// Python that draws the same view again.
const FUNCTIONS = { head: "head_view", model: "model_view", neuron: "neuron_view", heatmap: "heatmap", matrix: "matrix_view" };

// `call`: the arguments of the call that made the view; `hash`: what is chosen now. A state's text needs no escapes.
export function figureCode(view, hash, call) {
  // Python has no view of all at once.
  if (view === "all") return figureCode("head", hash.replace("view=all", "view=head"), call);
  return `import headscope as hs\n\nhs.${FUNCTIONS[view]}(${call}, state="${hash}")\n`;
}
