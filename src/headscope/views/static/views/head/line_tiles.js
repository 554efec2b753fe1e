// The lines between the columns, in tiles of the column's height: a tile is drawn when it comes into view.
import { el } from "../../core/dom.js";
import { RasterSurface } from "../../core/raster.js";
import { tileCount, tileSpan } from "./layout.js";

// Tiles kept with their picture, beyond those in view.
const MOST_KEPT = 12;
// How long drawing may hold up the page at a time.
const SLICE = 12;

export class LineTiles {
  // `color()` is that of the ground which the lines are drawn on.
  constructor(color) {
    this.color = color;
    this.box = el("div", { class: "hs-lines", "aria-hidden": "true" });
    this.tiles = [];
    this.version = 0;
    this.focusVersion = 0;
    this.paint = null;
    this.paintOver = null;
    this.watch = new IntersectionObserver((entries) => this.seen(entries), { rootMargin: "256px 0px" });
  }

  resize(width, height) {
    this.box.style.width = `${width}px`;
    this.box.style.height = `${height}px`;
    if (this.width === width && this.height === height) return;
    [this.width, this.height] = [width, height];
    this.watch.disconnect();
    this.tiles = Array.from({ length: tileCount(height) }, (_, place) => {
      const span = tileSpan(place, height);
      const tile = { ...span, inView: false, version: -1, focusVersion: -1, base: el("canvas"), over: el("canvas") };
      for (const canvas of [tile.base, tile.over]) {
        canvas.style.top = `${span.top}px`;
        canvas.style.width = `${width}px`;
        canvas.style.height = `${span.height}px`;
      }
      tile.base.className = "hs-base";
      tile.over.className = "hs-over";
      return tile;
    });
    this.box.replaceChildren(...this.tiles.flatMap(({ base, over }) => [base, over]));
    for (const tile of this.tiles) this.watch.observe(tile.base);
  }

  // `paint(surface, span)` draws all lines of a span in steps, as a generator; earlier drawings are stale.
  show(paint) {
    this.paint = paint;
    this.version++;
    this.job = null;
    this.box.setAttribute("aria-busy", "true");
    this.refresh();
  }

  // `paint(surface, span)` draws one token's lines at once, in place of all; null shows all again.
  isolate(paint) {
    this.paintOver = paint;
    this.focusVersion++;
    this.box.classList.toggle("hs-isolated", paint !== null);
    this.refresh();
  }

  refresh() {
    if (this.paintOver) {
      for (const tile of this.tiles) {
        if (!tile.inView || tile.focusVersion === this.focusVersion) continue;
        const surface = this.surface(tile);
        this.paintOver(surface, { top: tile.top, height: tile.height });
        surface.onto(tile.over);
        surface.release();
        tile.focusVersion = this.focusVersion;
      }
    } else this.work();
  }

  surface(tile) {
    return new RasterSurface(this.width, tile.height, window.devicePixelRatio || 1, this.color(), tile.top);
  }

  // Draw stale tiles in view, a slice at a time; the lines of a token, and newer tiles, come first.
  work() {
    clearTimeout(this.waiting);
    const until = performance.now() + SLICE;
    while (!this.paintOver && this.paint) {
      if (this.job && !this.job.tile.inView) this.job = null;
      this.job = this.job || this.nextJob();
      if (!this.job) {
        this.box.setAttribute("aria-busy", "false");
        return;
      }
      const { tile, surface, steps } = this.job;
      let done = false;
      while (!done && performance.now() < until) done = steps.next().done;
      if (done) {
        surface.onto(tile.base);
        surface.release();
        tile.version = this.version;
        this.job = null;
      }
      if (performance.now() >= until) {
        // What there is so far can be seen.
        if (!done) surface.onto(tile.base);
        this.waiting = setTimeout(() => this.work(), 0);
        return;
      }
    }
  }

  nextJob() {
    const tile = this.tiles.find((one) => one.inView && one.version !== this.version);
    if (!tile) return null;
    const surface = this.surface(tile);
    return { tile, surface, steps: this.paint(surface, { top: tile.top, height: tile.height }) };
  }

  seen(entries) {
    for (const entry of entries) {
      const tile = this.tiles.find(({ base }) => base === entry.target);
      if (tile) tile.inView = entry.isIntersecting;
    }
    this.refresh();
    const idle = this.tiles.filter((tile) => !tile.inView && tile.version >= 0);
    for (const tile of idle.slice(0, Math.max(0, idle.length - MOST_KEPT))) {
      for (const canvas of [tile.base, tile.over]) canvas.width = canvas.height = 0;
      tile.version = tile.focusVersion = -1;
    }
  }

  destroy() {
    clearTimeout(this.waiting);
    this.paint = this.paintOver = null;
    this.watch.disconnect();
  }
}
