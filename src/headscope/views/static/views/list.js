// The views, in the order of their tabs. A view is a module that exports VIEW:
//
// name      in addresses, and of `headscope view`
// label     on its tab
// call      the Python function that draws it; left out where there is none
// heads     what it draws: "several" heads of a layer as lines, "mean" (one head, or the mean), "one" head, all "layers"
// needs     "weights", or "queries and keys" beside them
// level     "any", or "token" where it has no words
// fields    its own choices, where it has any, kept in the address and offered above it: {name, label (null: offered by
//           the view itself), options(kind): [value, text] each, the first for a start}
// about     what it shows, where it is folded away
// gathers   whether it shows the other views; it is offered where the host asks for it
// element   (host, store, {among: whether other views are beside it}) => {element, show(frame, neuron), scene(), destroy()};
//           `host`: set(state parts), pick(token or null), say(text), views: those that are offered; `store` gives layers;
//           `frame` is what `frameOf` and `framed` make, `neuron` the layer's queries and keys, where it needs them.
//           `element` is a section with the label in its name, in which something takes the tab key; it draws on a
//           canvas, or has an element with `data-place` for each token. `scene` is what is saved as a picture
//
// Strings stand on lines of their own: Python reads them too (views/bundle.py).
import { VIEW as all } from "./all/all_views.js";
import { VIEW as head } from "./head/head_view.js";
import { VIEW as model } from "./model/model_view.js";
import { VIEW as neuron } from "./neuron/neuron_view.js";
import { VIEW as heatmap } from "./heatmap/heat_view.js";
import { VIEW as matrix } from "./matrix/matrix_view.js";

export const VIEWS = [all, head, model, neuron, heatmap, matrix];

// The names of those that every page has; the first is what a page opens with.
export const OFFERED = VIEWS.filter(({ gathers }) => !gathers).map(({ name }) => name);

export function viewNamed(name) {
  return VIEWS.find((view) => view.name === name);
}
