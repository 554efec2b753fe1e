// The matrix view: every weight of one head as a cell; arrow keys or the pointer name it.
import { el } from "../../core/dom.js";
import { placeOfToken, tellHidden, tokenAt } from "../frame.js";
import { percent } from "../../core/format.js";
import { matrixPicture, matrixSizes, paintMatrix } from "./matrix_scene.js";
import { measureText } from "../../core/picture.js";
import { CanvasSurface } from "../../core/surface.js";
import { toldToken } from "../telling.js";
import { shadeTable } from "../../core/colors.js";

const NOWHERE = { row: -1, column: -1 };

export const VIEW = {
  name: "matrix",
  label: "Matrix",
  call: "matrix_view",
  heads: "mean",
  needs: "weights",
  level: "any",
  fields: [{ name: "zoom", label: null, options: () => [["", "to the page"], ["read", "until labels can be read"]] }],
  element: (host) => new MatrixView(host),
};

export class MatrixView {
  constructor(host) {
    this.host = host;
    this.readout = el("p", { class: "hs-readout" });
    this.canvas = el("canvas", { "aria-hidden": "true" });
    this.space = el("div", { class: "hs-space" }, this.canvas);
    this.scroll = el(
      "div",
      {
        class: "hs-scroll hs-matrix-scroll",
        tabindex: 0,
        role: "application",
        "aria-roledescription": "matrix of attention weights",
        "aria-label": "Matrix: queries down, keys across. Arrow keys move over the cells, Enter keeps a query.",
        onscroll: () => this.draw(),
        onpointermove: (event) => this.point(event),
        onpointerleave: () => this.move(NOWHERE),
        onclick: (event) => this.click(event),
        onkeydown: (event) => this.key(event),
        onblur: () => this.move(NOWHERE),
      },
      this.space,
    );
    this.zoom = el("button", { type: "button", class: "hs-action", onclick: () => host.set({ zoom: this.frame.state.zoom ? "" : "read" }) });
    this.bar = el("span", { class: "hs-scale", "aria-hidden": "true" });
    this.ends = el("span", {});
    this.element = el("section", { class: "hs-matrix", "aria-label": "Matrix view" }, this.readout, this.scroll, el("p", { class: "hs-count" }, this.bar, this.ends, " ", this.zoom));
    this.spot = NOWHERE;
    this.sizer = new ResizeObserver(() => this.frame && this.place());
    this.sizer.observe(this.element);
  }

  show(frame) {
    this.frame = frame;
    this.picture = matrixPicture(frame, frame.theme);
    this.longest = Math.max(0, ...[...frame.labels.query, ...frame.labels.key].map((label) => measureText(label.slice(0, 80), 12)));
    const token = frame.state.token;
    const place = placeOfToken(frame, token);
    this.kept = place < 0 ? NOWHERE : token.side === "query" ? { row: place, column: -1 } : { row: -1, column: place };
    this.spot = NOWHERE;
    this.ends.textContent = `0% to ${percent(this.picture.most)}, on a square-root scale`;
    const table = shadeTable(frame.theme);
    const stop = (share) => `rgb(${table.slice(3 * Math.round(255 * Math.sqrt(share)), 3 * Math.round(255 * Math.sqrt(share)) + 3).join(",")}) ${100 * share}%`;
    this.bar.style.background = `linear-gradient(to right, ${[0, 0.05, 0.2, 0.5, 1].map(stop).join(", ")})`;
    this.placed = null;
    this.place();
  }

  place() {
    const room = this.element.clientWidth - 18;
    if (room < 0 || room === this.placed) return;
    this.placed = room;
    this.sizes = matrixSizes(this.picture, room, this.longest, { readable: this.frame.state.zoom === "read" });
    this.space.style.width = `${this.sizes.width}px`;
    this.space.style.height = `${this.sizes.height}px`;
    this.zoom.hidden = this.sizes.fits;
    this.zoom.textContent = this.frame.state.zoom ? "Fit to the page" : "Enlarge until labels can be read";
    this.draw();
    this.tell();
  }

  draw() {
    const { frame, picture, sizes } = this;
    if (!frame) return;
    const width = Math.max(1, Math.min(this.scroll.clientWidth, sizes.width));
    const height = Math.max(1, Math.min(this.scroll.clientHeight, sizes.height));
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    const surface = new CanvasSurface(this.canvas, width, height, window.devicePixelRatio || 1);
    const view = { left: this.scroll.scrollLeft, top: this.scroll.scrollTop, width, height };
    paintMatrix(surface, { picture, labels: frame.labels, sizes, view, spot: this.now(), theme: frame.theme });
  }

  now() {
    return this.spot.row >= 0 || this.spot.column >= 0 ? this.spot : this.kept;
  }

  spotAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const { cell, side, top } = this.sizes;
    const column = Math.floor((x - side + this.scroll.scrollLeft) / cell);
    const row = Math.floor((y - top + this.scroll.scrollTop) / cell);
    const inside = (place, count, edge) => (edge && place >= 0 && place < count ? place : -1);
    return { row: inside(row, this.picture.rows, y >= top), column: inside(column, this.picture.columns, x >= side) };
  }

  point(event) {
    this.move(this.spotAt(event));
  }

  move(spot) {
    if (spot.row === this.spot.row && spot.column === this.spot.column) return;
    this.spot = spot;
    this.draw();
    this.tell();
  }

  tell() {
    this.readout.textContent = this.words(this.now()) || "Point at a cell to name it; click to keep its query.";
  }

  words({ row, column }) {
    const { labels, state } = this.frame;
    const [query, key] = [row < 0 ? "" : toldToken(labels.query[row]), column < 0 ? "" : toldToken(labels.key[column])];
    if (row >= 0 && column >= 0) return `${query} attends ${percent(this.picture.weight[row * this.picture.columns + column])} to ${key}. Layer ${state.layer}, ${state.head ? `head ${state.head}` : "mean of the heads"}.`;
    return query || key ? `${query ? "Query" : "Key"} ${query || key}.` : "";
  }

  click(event) {
    const { row, column } = this.spotAt(event);
    if (row >= 0) this.keep("query", row);
    else if (column >= 0) this.keep("key", column);
  }

  keep(side, place) {
    const same = this.kept[side === "query" ? "row" : "column"] === place;
    this.host.pick(same ? null : tokenAt(this.frame, side, place));
  }

  key(event) {
    if (event.metaKey || event.altKey || !this.picture.weight.length) return;
    const { rows, columns } = this.picture;
    const { row, column } = { row: Math.max(0, this.spot.row, this.kept.row), column: Math.max(0, this.spot.column, this.kept.column) };
    const fresh = this.spot.row < 0 && this.spot.column < 0;
    const all = event.ctrlKey;
    const to = {
      ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column],
      ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1],
      Home: all ? [0, 0] : [row, 0],
      End: all ? [rows - 1, columns - 1] : [row, columns - 1],
    }[event.key];
    if (event.key === "Escape") this.host.pick(null);
    else if (event.key === "Enter" || event.key === " ") this.keep("query", row);
    else if (!to) return;
    event.preventDefault();
    if (!to) return;
    const next = fresh ? [row, column] : [Math.min(rows - 1, Math.max(0, to[0])), Math.min(columns - 1, Math.max(0, to[1]))];
    this.reveal(...next);
    this.move({ row: next[0], column: next[1] });
    this.host.say(this.words(this.spot));
  }

  // Scroll until a cell is in view next to the labels.
  reveal(row, column) {
    const { cell, side, top } = this.sizes;
    const { scroll } = this;
    const into = (start, seen, edge, at) => (at * cell < start ? at * cell : (at + 1) * cell > start + seen - edge ? (at + 1) * cell - seen + edge : start);
    scroll.scrollTop = into(scroll.scrollTop, scroll.clientHeight, top, row);
    scroll.scrollLeft = into(scroll.scrollLeft, scroll.clientWidth, side, column);
  }

  scene() {
    const { frame } = this;
    const { state } = frame;
    const caption = [`Layer ${state.layer}`, state.head ? `head ${state.head}` : "mean of the heads", tellHidden(frame)].filter(Boolean).join(" · ");
    const sizes = matrixSizes(this.picture, 760, this.longest, { readable: state.zoom === "read" });
    return {
      width: sizes.width,
      height: sizes.height + 28,
      title: caption,
      draw: (surface, theme, margin) => {
        const picture = matrixPicture(frame, theme);
        surface.text(caption, margin, margin + 8, { color: theme.ink, most: sizes.width });
        surface.shift(margin, margin + 28);
        paintMatrix(surface, { picture, labels: frame.labels, sizes, view: { left: 0, top: 0, width: sizes.width, height: sizes.height }, spot: this.kept, theme });
      },
    };
  }

  destroy() {
    this.sizer.disconnect();
  }
}
