// A line that screen readers speak when it changes.
import { el } from "./dom.js";

export class Announcer {
  constructor(box) {
    this.line = el("div", { class: "hs-hidden", role: "status", "aria-live": "polite" });
    box.append(this.line);
  }

  say(text) {
    // The same words again are a change only if something differs.
    this.line.textContent = this.line.textContent === text ? `${text}\u00a0` : text;
  }
}
