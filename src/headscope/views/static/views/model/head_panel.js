// One head enlarged next to the model view, with links to its other views.
import { el } from "../../core/dom.js";
import { HeadView } from "../head/head_view.js";

export class HeadPanel {
  constructor(host, onClose) {
    this.host = host;
    this.view = new HeadView(host, null, { among: true });
    this.heading = el("h2", {});
    // Every view that draws a layer's heads.
    const ways = host.views.filter(({ heads }) => heads !== "layers");
    const go = (view) => el("button", { type: "button", class: "hs-action", onclick: () => this.go(view) }, view.label);
    this.element = el(
      "section",
      {
        class: "hs-panel",
        "aria-label": "Enlarged head",
        hidden: true,
        // Escape first lets go of a kept token, which the view does itself.
        onkeydown: (event) => event.key === "Escape" && !event.defaultPrevented && onClose(),
      },
      el("div", { class: "hs-panel-top" }, this.heading, el("button", { type: "button", class: "hs-action", "aria-label": "Close", onclick: onClose }, "×")),
      el("div", { class: "hs-ways" }, ways.map(go)),
      this.view.element,
    );
  }

  go(view) {
    this.host.set({ view: view.name, ...(view.heads === "several" ? { heads: [this.head], mean: false } : {}) });
  }

  title(words) {
    this.heading.textContent = words;
  }

  show(frame, words) {
    this.head = frame.state.head || Number(frame.looks[0].name);
    this.title(words);
    this.element.hidden = false;
    // Its heads, in words, are this one.
    this.view.show({ ...frame, state: { ...frame.state, heads: [this.head], mean: false } });
  }

  scene() {
    return this.view.scene();
  }

  destroy() {
    this.view.destroy();
  }
}
