// The card stays visible: it is docked at the page's edge while its own place is scrolled away.
import { el } from "../core/dom.js";

export class Dock {
  // `card`: the element; `home`: its container, to which it returns when the container is visible.
  constructor(card, home) {
    this.card = card;
    this.home = home;
    this.close = el("button", { type: "button", class: "dock-close", "aria-label": "Close the card", onclick: () => this.leave() }, "×");
    window.addEventListener("scroll", () => this.docked && this.homeSeen() && this.leave(), { passive: true });
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.docked && this.leave());
  }

  get docked() {
    return this.card.classList.contains("docked");
  }

  homeSeen() {
    return this.home.getBoundingClientRect().bottom > window.innerHeight * 0.4;
  }

  // Show the card where the reader is, after it was written anew.
  show() {
    const own = this.card.getBoundingClientRect();
    if (!this.docked && own.top >= -1 && own.top < window.innerHeight * 0.6) return;
    if (this.homeSeen() && !this.docked) {
      this.card.scrollIntoView({ block: "start", behavior: "smooth" });
      return;
    }
    this.inPlace(() => this.card.classList.add("docked"));
    this.card.prepend(this.close);
    this.card.scrollTop = 0;
  }

  // What is read stays where it is on the screen: docked, the card leaves no room above it (on a phone).
  inPlace(change) {
    const below = () => this.home.getBoundingClientRect().bottom;
    const before = below();
    change();
    window.scrollBy({ top: below() - before, behavior: "instant" });
  }

  leave() {
    const inside = this.card.contains(document.activeElement);
    if (this.docked) this.inPlace(() => this.card.classList.remove("docked"));
    this.close.remove();
    if (inside && this.from && this.from.isConnected) this.from.focus({ preventScroll: true });
  }
}
