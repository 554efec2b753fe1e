// The table of one query: a row a key; bars are drawn when their row comes into view.
import { el } from "../../core/dom.js";
import { cutToken } from "../../core/token_text.js";
import { barsWidth, NEURON_ROW, stepText, STEP_NAMES } from "./neuron_scene.js";
import { CanvasSurface } from "../../core/surface.js";

export class NeuronTable {
  // `onPoint(text)` names the element under the pointer.
  constructor(onPoint) {
    this.onPoint = onPoint;
    this.version = 0;
    this.head = el("thead");
    this.body = el("tbody");
    this.table = el("table", { class: "hs-neuron-table", onpointermove: (event) => this.point(event), onpointerleave: () => onPoint("") }, this.head, this.body);
    this.element = el("div", { class: "hs-scroll hs-neuron-scroll", tabindex: 0, role: "region", "aria-label": "How the weights of one query come about" }, this.table);
    this.watch = new IntersectionObserver((entries) => this.seen(entries), { rootMargin: "200px" });
  }

  // `content`: {row, order, vectors, products, labels, query, steps, scales, width, theme, weightTop}.
  show(content) {
    this.content = content;
    this.version++;
    const { order, steps, query, width, labels } = content;
    const bars = barsWidth(width, steps.length, this.element.clientWidth);
    const key = JSON.stringify([order.length, steps, bars]);
    if (key !== this.built) this.build(key, order.length, steps, bars);
    this.queryName.textContent = cutToken(query, 40);
    this.draw(this.queryCanvas, content.row.q, content.scales.vectors);
    order.forEach((place, at) => {
      const row = this.rows[at];
      row.name.textContent = cutToken(labels[place], 40);
      row.name.title = labels[place].slice(0, 5000);
      row.item.classList.toggle("hs-unseen", !content.row.visible[place]);
      steps.forEach((name, i) => {
        row.cells[i].textContent = stepText(name, content.row, place);
        if (name === "weight") row.cells[i].style.setProperty("--hs-share", `${100 * content.row.weight[place]}%`);
      });
      if (row.inView) this.paint(row);
    });
  }

  build(key, count, steps, bars) {
    this.built = key;
    this.bars = bars;
    this.watch.disconnect();
    const canvas = () => el("canvas", { "aria-hidden": "true" });
    const sized = (one) => {
      one.style.width = `${this.bars}px`;
      one.style.height = `${NEURON_ROW - 4}px`;
      return one;
    };
    this.queryCanvas = sized(canvas());
    this.queryName = el("bdi", {});
    this.head.replaceChildren(
      el("tr", { class: "hs-query-row" }, el("th", { scope: "row" }, this.queryName), el("td", {}, this.queryCanvas), el("td", { colspan: 1 + steps.length, class: "hs-note" }, "its query vector q")),
      el("tr", {}, el("th", { scope: "col" }, "key"), el("th", { scope: "col", title: "The key vector" }, "k"), el("th", { scope: "col", title: "The product of q and k, number by number" }, "q × k"), steps.map((name) => el("th", { scope: "col", class: "hs-number", title: STEP_NAMES[name].title }, STEP_NAMES[name].head))),
    );
    this.rows = Array.from({ length: count }, (_, at) => {
      const row = { at, name: el("bdi", {}), key: sized(canvas()), product: sized(canvas()), cells: steps.map((name) => el("td", { class: name === "weight" ? "hs-number hs-weight" : "hs-number" })), inView: false, version: -1 };
      row.item = el("tr", { "data-row": at }, el("th", { scope: "row" }, row.name), el("td", { "data-bars": "key" }, row.key), el("td", { "data-bars": "product" }, row.product), row.cells);
      return row;
    });
    this.body.replaceChildren(...this.rows.map(({ item }) => item));
    for (const { item } of this.rows) this.watch.observe(item);
  }

  seen(entries) {
    for (const entry of entries) {
      const row = this.rows[Number(entry.target.dataset.row)];
      if (!row) continue;
      row.inView = entry.isIntersecting;
      if (row.inView) this.paint(row);
    }
  }

  paint(row) {
    if (row.version === this.version) return;
    row.version = this.version;
    const { order, vectors, products, scales } = this.content;
    this.draw(row.key, vectors(order[row.at]), scales.vectors);
    this.draw(row.product, products(order[row.at]), scales.products);
  }

  draw(canvas, values, most) {
    const { theme } = this.content;
    const surface = new CanvasSurface(canvas, this.bars, NEURON_ROW - 4, window.devicePixelRatio || 1);
    surface.bars(values, 0, 0, this.bars, NEURON_ROW - 4, { most, positive: theme.positive, negative: theme.negative });
  }

  point(event) {
    const cell = event.target.closest("[data-bars]");
    const item = event.target.closest("[data-row]");
    if (!cell || !item) return this.onPoint("");
    const box = cell.firstChild.getBoundingClientRect();
    const { width, order } = this.content;
    const dimension = Math.floor(((event.clientX - box.left) / box.width) * width);
    if (dimension < 0 || dimension >= width) return this.onPoint("");
    return this.onPoint({ key: order[Number(item.dataset.row)], dimension });
  }

  destroy() {
    this.watch.disconnect();
  }
}
