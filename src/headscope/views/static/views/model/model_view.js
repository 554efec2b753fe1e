// The model view: all layers and heads as thumbnails, sorted by statistics or roles; click or Enter enlarges one.
import { el } from "../../core/dom.js";
import { frameOf, withHead } from "../frame.js";
import { headLabels, isSquare } from "../embedded_source.js";
import { headOrder, HEAD_STATISTICS } from "../head_stats.js";
import { HeadPanel } from "./head_panel.js";
import { modelScene } from "./model_scene.js";
import { percent } from "../../core/format.js";
import { roleLabel, roleStyle } from "../../core/theme.js";
import { roleMark } from "../../core/role_mark.js";
import { RasterSurface } from "../../core/raster.js";
import { CanvasSurface } from "../../core/surface.js";
import { MOST_LINES, paintThumbnail, thumbnailOf } from "./thumbnails.js";

export const VIEW = {
  name: "model",
  label: "Model view",
  call: "model_view",
  heads: "layers",
  needs: "weights",
  level: "any",
  fields: [
    { name: "sort", label: "Sort by", options: (kind) => [["", "layer and head"], ...sortable(kind), ...(kind.roles ? [["role", "role"]] : [])] },
    { name: "role", label: "Role", options: (kind) => [["", "all"], ...rolesOf(kind).map((role) => [role, roleLabel(role)])] },
    { name: "draw", label: "Draw", options: () => [["", "by length"], ["lines", "lines"], ["maps", "maps"]] },
  ],
  element: (host, store, options) => new ModelView(host, store, options),
};

// Statistics of a kind of attention: between two texts there is no previous token.
function sortable(kind) {
  return HEAD_STATISTICS.filter(({ name }) => isSquare(kind) || ["entropy", "first"].includes(name)).map(({ name, label }) => [name, label]);
}

function rolesOf(kind) {
  return kind.roles ? [...new Set(kind.roles.flat().filter(Boolean))].sort() : [];
}

export class ModelView {
  // Alone it enlarges the head that is chosen; among others these show it.
  constructor(host, store, { among = false } = {}) {
    const enlarges = !among;
    this.host = host;
    this.store = store;
    this.enlarges = enlarges;
    this.cells = [];
    this.run = 0;
    this.readout = el("p", { class: "hs-readout" });
    this.grid = el("div", {
      class: "hs-thumbs",
      role: "grid",
      "aria-label": `Heads; arrow keys move, Enter ${enlarges ? "enlarges" : "chooses"}`,
      onkeydown: (event) => this.key(event),
      onclick: (event) => this.hit(event, (cell) => this.open(cell)),
      onpointerover: (event) => this.hit(event, (cell) => this.name(cell)),
      onfocusin: (event) => this.hit(event, (cell) => this.name(cell)),
    });
    this.box = el("div", { class: "hs-thumb-box" }, this.grid);
    this.panel = new HeadPanel(host, () => this.close());
    const empty = enlarges ? el("p", { class: "hs-panel-empty" }, "A head that you click is enlarged here.") : null;
    this.element = el("section", { class: "hs-model", "aria-label": "Model view" }, el("div", { class: "hs-model-main" }, this.readout, this.box), empty, this.panel.element);
    this.element.classList.toggle("hs-enlarges", enlarges);
    this.watch = new IntersectionObserver((entries) => this.seen(entries), { rootMargin: "200px" });
  }

  // `frame` is that of the state's layer; the other layers come one after another.
  async show(frame) {
    this.frame = frame;
    const { state, kind } = frame;
    this.lines = state.draw ? state.draw === "lines" : Math.max(frame.labels.query.length, frame.labels.key.length) <= MOST_LINES;
    const content = JSON.stringify([kind.kind, state.level, state.filter, state.special, this.lines]);
    const run = (this.run = content === this.content ? this.run : this.run + 1);
    const fresh = content !== this.content;
    this.content = content;
    if (fresh) this.heads = kind.layers.flatMap((layer, i) => headLabels(kind).map((head, place) => ({ layer, layerIndex: i, head, place, role: kind.roles ? kind.roles[i][place] : null })));
    this.arrange();
    this.panel.element.hidden = !state.open;
    this.element.classList.toggle("hs-opened", state.open);
    if (state.open) this.panel.show(withHead(frame, state.head || headLabels(kind)[0]), this.tellHead(this.headAt(state.layer, state.head)));
    if (!fresh) return;
    const kindIndex = this.store.kindIndex(kind.kind);
    for (let i = 0; i < kind.layers.length; i++) {
      const [weights, statistics] = await this.layer(kindIndex, i, state.level, run);
      if (run !== this.run) return;
      const own = frameOf({ ...frame, weights });
      for (const head of this.heads) {
        if (head.layerIndex !== i) continue;
        head.statistics = statistics[head.place];
        head.thumbnail = thumbnailOf(own, head.place, this.lines);
      }
      this.paintSeen();
      // Let the page breathe between layers.
      await new Promise((next) => setTimeout(next, 0));
      if (run !== this.run) return;
    }
    this.arrange();
    if (this.frame.state.open) this.panel.title(this.tellHead(this.headAt(this.frame.state.layer, this.frame.state.head)));
  }

  // One layer's weights and statistics; where they do not come, the next showing begins anew.
  async layer(kindIndex, i, level, run) {
    try {
      return [await this.store.weights(kindIndex, i, level), await this.store.layerStatistics(kindIndex, i, level)];
    } catch (error) {
      if (run === this.run) this.content = null;
      throw error;
    }
  }

  headAt(layer, head) {
    return this.heads.find((one) => one.layer === layer && one.head === (head || this.heads[0].head));
  }

  get ready() {
    return this.heads.every((head) => head.statistics);
  }

  // The cells in their order: layer by layer, or by a statistic, or only those of a role.
  arrange() {
    const { state, kind, theme } = this.frame;
    const sorted = state.sort && (this.ready || state.sort === "role");
    const order = sorted ? headOrder(this.heads, state.sort) : this.heads.keys();
    const shown = [...order].map((place) => this.heads[place]).filter((head) => !state.role || head.role === state.role);
    const named = Boolean(sorted || state.role);
    const key = JSON.stringify([this.content, theme.scheme, named, shown.map(({ layer, head }) => [layer, head]), Boolean(sorted)]);
    if (key !== this.arranged) {
      this.arranged = key;
      this.watch.disconnect();
      const cells = shown.map((head) => this.cell(head, named, sorted));
      this.cells = cells;
      const columns = kind.heads;
      this.grid.style.setProperty("--hs-columns", columns);
      const rows = [];
      for (let i = 0; i < cells.length; i += columns) {
        const axis = named ? null : el("span", { class: "hs-axis", "aria-hidden": "true" }, String(kind.layers[i / columns]));
        rows.push(el("div", { role: "row" }, axis, cells.slice(i, i + columns).map(({ button }) => button)));
      }
      const heads = named ? [] : [el("div", { class: "hs-heads-axis", "aria-hidden": "true" }, el("span", {}), headLabels(kind).map((label) => el("span", { class: "hs-axis" }, String(label))))];
      this.grid.classList.toggle("hs-named", named);
      this.grid.replaceChildren(...heads, ...rows);
      for (const cell of cells) this.watch.observe(cell.button);
      if (cells.length) cells[0].button.tabIndex = 0;
    }
    for (const { head, button } of this.cells) {
      const at = this.enlarges ? state.open && (state.head || this.heads[0].head) : state.head;
      const on = head.layer === state.layer && head.head === at;
      button.setAttribute("aria-selected", String(on));
      button.setAttribute("aria-label", this.tellHead(head));
    }
    this.paintSeen();
    this.name(null);
  }

  cell(head, named, sorted) {
    const canvas = el("canvas", { "aria-hidden": "true" });
    const statistic = sorted && HEAD_STATISTICS.find(({ name }) => name === this.frame.state.sort);
    const value = statistic ? head.statistics[statistic.name] : null;
    const told = value === null ? "" : ` · ${statistic.share ? percent(value) : value.toFixed(2)}`;
    const text = named ? `${head.layer}-${head.head}${told}` : "";
    const button = el("button", { type: "button", role: "gridcell", tabindex: -1, "data-head": `${head.layer}-${head.head}` }, canvas, head.role ? roleMark(head.role, this.frame.theme) : null, named ? el("span", {}, text) : null);
    return { head, button, canvas, inView: false };
  }

  tellHead(head) {
    if (!head) return "";
    const parts = [`Head ${head.layer}-${head.head}`];
    if (head.role) parts.push(roleLabel(head.role).toLowerCase());
    for (const { name, label, share } of HEAD_STATISTICS) {
      const value = head.statistics && head.statistics[name];
      if (typeof value === "number" && (!share || value >= 0.1)) parts.push(share ? `${percent(value)} ${label}` : `${label} ${value.toFixed(2)} nats`);
    }
    return parts.join(" · ");
  }

  name(cell) {
    const { state } = this.frame;
    const count = this.cells.length === this.heads.length ? `${this.heads.length} heads` : `${this.cells.length} of ${this.heads.length} heads`;
    const statistic = HEAD_STATISTICS.find(({ name }) => name === state.sort);
    const order = statistic ? `, most first by ${statistic.share ? "attention " : ""}${statistic.label}` : "";
    this.readout.textContent = cell ? this.tellHead(cell.head) : `${count}${order}. Point at a head to name it; click to ${this.enlarges ? "enlarge" : "choose"} it.`;
  }

  hit(event, act) {
    const button = event.target.closest("button[data-head]");
    const cell = button && this.cells.find((one) => one.button === button);
    if (cell) act(cell);
  }

  open({ head }) {
    this.host.set({ ...(this.enlarges ? { open: true } : {}), layer: head.layer, head: head.head });
  }

  close() {
    const { layer, head } = this.frame.state;
    this.host.set({ open: false });
    const cell = this.cells.find((one) => one.head.layer === layer && one.head.head === (head || this.heads[0].head));
    if (cell) cell.button.focus();
  }

  key(event) {
    const at = this.cells.findIndex(({ button }) => button === event.target);
    if (at < 0) return;
    const columns = this.frame.kind.heads;
    const last = this.cells.length - 1;
    const row = at - (at % columns);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, ArrowUp: at - columns, ArrowDown: at + columns, Home: row, End: Math.min(last, row + columns - 1) }[event.key];
    if (event.key === "Escape" && this.frame.state.open) this.close();
    else if (to === undefined) return;
    event.preventDefault();
    if (to === undefined || to < 0 || to > last) return;
    this.cells[at].button.tabIndex = -1;
    this.cells[to].button.tabIndex = 0;
    this.cells[to].button.focus();
  }

  seen(entries) {
    for (const entry of entries) {
      const cell = this.cells.find(({ button }) => button === entry.target);
      if (cell) cell.inView = entry.isIntersecting;
    }
    this.paintSeen();
  }

  paintSeen() {
    const { theme } = this.frame;
    for (const cell of this.cells) {
      if (!cell.inView || !cell.head.thumbnail || cell.painted === cell.head.thumbnail) continue;
      const size = Math.round(cell.canvas.clientWidth) || 64;
      const scale = window.devicePixelRatio || 1;
      const raster = cell.head.thumbnail.edges ? new RasterSurface(size, size, scale, theme.card) : null;
      paintThumbnail(raster || new CanvasSurface(cell.canvas, size, size, scale), cell.head.thumbnail, 0, 0, size, size, this.colorOf(cell.head, theme), theme);
      if (raster) {
        raster.onto(cell.canvas);
        raster.release();
      }
      cell.painted = cell.head.thumbnail;
    }
  }

  colorOf(head, theme) {
    return head.role ? roleStyle(head.role, theme.scheme).line : theme.shade;
  }

  scene() {
    const { state } = this.frame;
    if (state.open) return this.panel.scene();
    return modelScene({ cells: this.cells, columns: this.frame.kind.heads, named: this.grid.classList.contains("hs-named"), caption: this.frame.title, colorOf: (head, theme) => this.colorOf(head, theme) });
  }

  destroy() {
    this.run++;
    this.watch.disconnect();
    this.panel.destroy();
  }
}
