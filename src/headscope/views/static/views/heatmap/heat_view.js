// The heat map: the text itself, each token shaded by the attention it receives or gives.
import { el } from "../../core/dom.js";
import { shadeOf } from "../../core/colors.js";
import { placeOfToken, tellHidden, tokenAt } from "../frame.js";
import { percent } from "../../core/format.js";
import { heatScene } from "./heat_scene.js";
import { heatScale, heatValues, shadeShare, tellHeat } from "./heat_values.js";
import { measureText } from "../../core/picture.js";
import { toldToken } from "../telling.js";
import { cutToken } from "../../core/token_text.js";

export const DIRECTION = { name: "direction", label: "Shade by attention", options: () => [["received", "received"], ["given", "given"]] };

export const VIEW = {
  name: "heatmap",
  label: "Heat map",
  call: "heatmap",
  heads: "mean",
  needs: "weights",
  level: "any",
  fields: [DIRECTION],
  element: (host) => new HeatView(host),
};

export class HeatView {
  constructor(host) {
    this.host = host;
    this.caption = el("p", { class: "hs-readout" });
    this.tip = el("div", { class: "hs-tip", "aria-hidden": "true", hidden: true });
    this.texts = el("div", { class: "hs-texts" });
    this.scale = el("span", { class: "hs-scale", "aria-hidden": "true" });
    this.ends = el("span", {});
    this.element = el(
      "section",
      { class: "hs-heat", "aria-label": "Heat map" },
      this.caption,
      this.texts,
      el("p", { class: "hs-count" }, this.scale, this.ends),
      this.tip,
    );
  }

  show(frame) {
    this.frame = frame;
    const { state, theme, shown, labels, units } = frame;
    this.shaded = state.direction === "received" ? "key" : "query";
    this.chooser = this.shaded === "key" ? "query" : "key";
    // In a map of one text over itself, a token chosen on either side is the same token.
    const token = state.token && (frame.square ? { side: this.chooser, at: state.token.at } : state.token);
    const chosen = token && token.side === this.chooser ? placeOfToken(frame, token) : -1;
    this.values = heatValues(frame, state.direction, chosen);
    const sinks = new Set(Array.from(shown[this.shaded], (unit, place) => (frame.sinks[this.shaded].has(unit) ? place : -1)));
    Object.assign(this, heatScale(this.values, sinks));
    this.chosen = chosen;
    const same = frame.square && String(shown.query) === String(shown.key);
    const joined = (side) => Array.from(shown[side], (unit, place) => place > 0 && units[side].joined[unit] && shown[side][place - 1] === unit - 1);
    const text = (side, values) => ({ side, labels: labels[side], joined: joined(side), values, chosen: side === this.chooser || same ? chosen : -1 });
    const names = { query: "Attending tokens (queries)", key: "Attended tokens (keys)" };
    this.paragraphs = same
      ? [{ ...text(this.shaded, this.values), name: "", says: "Tokens" }]
      : ["query", "key"].map((side) => ({ ...text(side, side === this.shaded ? this.values : null), name: names[side], says: names[side] }));
    this.said = `${tellHeat(state.direction, chosen < 0 ? "" : toldToken(labels[this.chooser][chosen]), state.level)}.`;
    this.caption.textContent = `${this.said} ${chosen < 0 ? `Click a ${state.level === "word" ? "word" : "token"} to see only its part.` : "Click it again, or Escape, for all."}`;
    this.write(theme);
    this.ends.textContent = [`${percent(this.least)} to ${percent(this.most)}`, this.offScale()].filter(Boolean).join("; ");
    this.scale.style.background = `linear-gradient(to right, ${shadeOf(0, theme).fill}, ${shadeOf(1, theme).fill})`;
  }

  // "off the scale, outlined: [CLS] 63%"; the three largest.
  offScale() {
    const told = [...this.off].sort((a, b) => this.values[b] - this.values[a]).slice(0, 3);
    const names = told.map((place) => `${cutToken(this.frame.labels[this.shaded][place], 12)} ${percent(this.values[place])}`);
    return names.length ? `off the scale, outlined: ${names.join(", ")}` : "";
  }

  // One list a paragraph; kept and only shaded anew while the tokens stay the same.
  write(theme) {
    const key = JSON.stringify(this.paragraphs.map(({ side, labels, name }) => [side, name, labels]));
    if (key !== this.written) {
      this.written = key;
      this.lists = this.paragraphs.map((paragraph, number) => this.list(paragraph, number));
      this.texts.replaceChildren(...this.paragraphs.flatMap(({ name }, number) => [name ? el("h2", {}, name) : null, this.lists[number]]).filter(Boolean));
    }
    const off = new Set(this.off);
    this.paragraphs.forEach(({ side, values, chosen, labels }, number) => {
      const units = this.frame.units[side];
      [...this.lists[number].children].forEach((item, place) => {
        item.classList.toggle("hs-unknown", units.unknown.has(this.frame.shown[side][place]));
        const { fill, ink } = shadeOf(values ? shadeShare(values[place], this) : 0, theme);
        item.style.setProperty("--hs-fill", fill);
        item.style.setProperty("--hs-on", ink);
        item.setAttribute("aria-selected", String(place === chosen));
        item.classList.toggle("hs-off", Boolean(values) && off.has(place));
        item.setAttribute("aria-label", values ? `${labels[place]} ${percent(values[place])}` : labels[place]);
      });
    });
  }

  list({ side, labels, joined, says }, number) {
    const items = labels.map((label, place) =>
      el(
        "span",
        { role: "option", class: joined[place] ? "hs-joined" : null, tabindex: place === 0 ? 0 : -1, "data-place": place, title: label.slice(0, 5000), "aria-selected": "false" },
        el("bdi", {}, cutToken(label, 60)),
      ),
    );
    const placeIn = (event) => {
      const item = event.target.closest("[data-place]");
      return item ? Number(item.dataset.place) : -1;
    };
    return el(
      "div",
      {
        class: "hs-text",
        role: "listbox",
        "aria-label": says,
        onpointerover: (event) => this.point(number, placeIn(event)),
        onpointerleave: () => this.point(number, -1),
        onfocusin: (event) => {
          this.point(number, placeIn(event));
          this.host.say(this.tell(number, placeIn(event)));
        },
        onfocusout: () => this.point(number, -1),
        onclick: (event) => this.choose(side, placeIn(event)),
        onkeydown: (event) => this.key(event, number, placeIn(event)),
      },
      items,
    );
  }

  tell(number, place) {
    const { values, labels } = this.paragraphs[number];
    if (place < 0) return "";
    const label = toldToken(labels[place]);
    return values ? `${label} ${percent(values[place])}. ${this.said}` : `${label}; Enter shows its part.`;
  }

  point(number, place) {
    const { values } = this.paragraphs[number];
    this.tip.hidden = place < 0 || !values;
    if (this.tip.hidden) return;
    const item = this.lists[number].children[place];
    this.tip.textContent = percent(values[place]);
    const [own, box] = [item.getBoundingClientRect(), this.element.getBoundingClientRect()];
    this.tip.style.left = `${Math.max(0, Math.min(own.left - box.left, box.width - this.tip.offsetWidth))}px`;
    this.tip.style.top = `${own.top - box.top - this.tip.offsetHeight - 3}px`;
  }

  choose(side, place) {
    if (place < 0) return;
    if (side !== this.chooser && !this.frame.square) return;
    const { unitOf } = this.frame.units[this.chooser];
    const token = tokenAt(this.frame, side, place);
    const there = this.frame.shown[this.chooser].indexOf(unitOf[token.at]);
    if (there < 0) return;
    this.host.pick(there === this.chosen ? null : { side: this.chooser, at: token.at });
  }

  key(event, number, at) {
    if (at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const items = [...this.lists[number].children];
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: items.length - 1, ArrowDown: nextLine(items, at, 1), ArrowUp: nextLine(items, at, -1) }[event.key];
    if (to !== undefined) {
      items[at].tabIndex = -1;
      const next = items[Math.min(items.length - 1, Math.max(0, to))];
      next.tabIndex = 0;
      next.focus();
    } else if (event.key === "Enter" || event.key === " ") this.choose(this.paragraphs[number].side, at);
    else if (event.key === "Escape") this.host.pick(null);
    else return;
    event.preventDefault();
  }

  scene() {
    const { state } = this.frame;
    const head = state.head ? `head ${state.head}` : "mean of the heads";
    const caption = [`Layer ${state.layer}`, head, this.said.replace("Shade: ", "").replace(/\.$/, ""), tellHidden(this.frame), this.offScale()].filter(Boolean).join(" · ");
    return heatScene({ paragraphs: this.paragraphs, scale: { least: this.least, most: this.most }, off: this.off, caption, width: Math.min(760, Math.max(320, this.texts.clientWidth || 760)), measure: measureText });
  }

  destroy() {}
}

// The token in the line above or below that lies nearest.
function nextLine(items, at, way) {
  const middle = (item) => item.offsetLeft + item.offsetWidth / 2;
  const top = items[at].offsetTop;
  let line = null;
  let best = at;
  for (let place = at + way; items[place]; place += way) {
    const item = items[place];
    if (item.offsetTop === top) continue;
    if (line !== null && item.offsetTop !== line) break;
    if (line === null || Math.abs(middle(item) - middle(items[at])) < Math.abs(middle(items[best]) - middle(items[at]))) best = place;
    line = item.offsetTop;
  }
  return best;
}
