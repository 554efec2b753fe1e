// The head atlas: a card for each head, found by the map, the grid, filters or words. One code for the page and the explorer.
import { el } from "./dom.js";

// `root`: an element to fill. The data blocks `data`, `maps` and `atlas` lie in the document.
// `onSentence({text, kind, layer, head, tokens})`: asked to show an example in the views; without it there is no button.
// `onHead(anchor)`: hears which heads are open, as `encoder-8-10` or `encoder-8-10~encoder-3-1`; "" for none.
export function mountAtlas(root, { onSentence = null, onHead = () => {} } = {}) {
  const app = new AtlasApp(root, onSentence, onHead);
  return { show: (anchor) => app.show(anchor), destroy: () => app.destroy() };
}

class AtlasApp {
  constructor(root, onSentence, onHead) {
    this.onSentence = onSentence;
    this.onHead = onHead;
    this.element = el("div", { class: "at-atlas" });
    root.append(this.element);
  }

  show(anchor) {
    this.anchor = anchor;
  }

  destroy() {
    this.element.remove();
  }
}
