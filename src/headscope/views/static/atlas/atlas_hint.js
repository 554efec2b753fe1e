// The hint above the cards while two heads are compared, or the second of them is being chosen.
import { el } from "../core/dom.js";
import { headTitle } from "../report/data.js";

export class CompareHint {
  // `onLeave()`: no second head is wanted. `onAlone()`: of two heads the first is wanted alone.
  constructor({ onLeave, onAlone }) {
    Object.assign(this, { onLeave, onAlone });
    this.element = el("p", { class: "at-hint", hidden: true, role: "status" });
  }

  // `opened`: heads whose cards are open, {kind, index}; `picking`: true while the reader chooses the second.
  show(opened, picking) {
    this.element.hidden = !picking && opened.length !== 2;
    this.element.tabIndex = -1;
    const title = opened.length ? headTitle(opened[0].kind, opened[0].index) : "";
    const text = picking
      ? `Choose the head to compare ${title} with: on the map, in the grid or the list. `
      : `Comparing with ${title}: click another head on the map to replace the second one. `;
    const onclick = () => (picking ? this.onLeave() : this.onAlone());
    this.element.replaceChildren(text, el("button", { type: "button", class: "at-button", onclick }, picking ? "Leave it" : "One head only"));
  }

  focus() {
    this.element.focus();
  }
}
