// The explorer's sentence part: the form, and below it all views of the last text.
import { mountAttention } from "../views/attention_app.js";
import { VIEWS } from "../views/list.js";
import { el } from "../core/dom.js";
import { ExplorerForm } from "./explorer_form.js";
import { ModelWatch } from "./explorer_models.js";
import { explorerSource } from "./explorer_source.js";
import { requestOf, writeAsked } from "./explorer_link.js";

// How long an answer may take before the page says that it waits.
const SOON = 150;

export class SentencePart {
  // `told`: {models, example, limits}; `onAddress(asked, state, fresh)`: what the address shall say.
  constructor({ api, told, onAddress, address }) {
    this.api = api;
    this.told = told;
    this.onAddress = onAddress;
    this.address = address;
    this.form = new ExplorerForm({ models: told.models, limits: told.limits, onLook: () => this.submit(), onModel: () => this.submit() });
    this.models = new ModelWatch(api, (models) => this.modelsChanged(models));
    this.status = el("p", { class: "ex-status", role: "status" });
    this.trouble = el("p", { class: "hs-trouble", role: "alert", hidden: true });
    this.views = el("div", { class: "ex-views" });
    this.element = el("div", { class: "ex-part" }, this.form.element, this.trouble, this.status, this.views);
    this.title = "headscope explorer";
    this.shown = null;
    this.turn = 0;
  }

  modelsChanged(models) {
    this.form.mark(models);
    this.form.abilities(this.models.named(this.form.read().model));
  }

  // What was typed.
  submit() {
    this.form.abilities(this.models.named(this.form.read().model));
    const asked = this.form.read();
    if (!requestOf(asked)) return this.fail("Type a sentence first.");
    return this.look(asked, this.carried(asked), true);
  }

  // What the views keep from one text to the next: all but the token, and the heads only of the same model.
  carried(asked) {
    if (!this.shown) return { view: "all" };
    const { token, ...kept } = this.shown.view.state();
    if (asked.model === this.shown.asked.model) return kept;
    return { view: kept.view, level: kept.level, least: kept.least, special: kept.special, faint: kept.faint };
  }

  // Look at a text; `state` as `mountAttention` takes it. Only the last question's answer is shown.
  async look(asked, state, fresh) {
    const turn = ++this.turn;
    if (this.asking) this.asking.abort();
    this.asking = new AbortController();
    const { signal } = this.asking;
    this.form.show(asked);
    this.trouble.hidden = true;
    this.tell("");
    const patience = setTimeout(() => turn === this.turn && !this.status.textContent && this.tell("Looking…"), SOON);
    try {
      const model = await this.models.settled(asked.model, ({ name }) => turn === this.turn && this.tell(`Loading ${name}…`), signal);
      if (turn !== this.turn) return;
      this.form.abilities(model);
      this.models.follow();
      const request = requestOf(asked);
      const payload = await this.api.look(request, { signal });
      if (turn !== this.turn) return;
      await this.draw(turn, asked, request, payload, state, fresh);
      if (turn === this.turn) this.tell(model.message);
    } catch (error) {
      if (turn === this.turn && error.name !== "AbortError") this.fail(error.message);
    } finally {
      clearTimeout(patience);
    }
  }

  // The new views are made out of sight, in their place, and take the old ones' when they are drawn.
  async draw(turn, asked, request, payload, state, fresh) {
    const box = el("div", { class: "ex-next" });
    this.views.append(box);
    const hash = (own) => `${writeAsked({ ...asked, part: "" })}&${own}`;
    const view = mountAttention(box, {
      source: explorerSource(this.api, request, payload),
      state,
      onState: (_, own) => this.onAddress(asked, own, false),
      host: { views: VIEWS.map(({ name }) => name), call: payload.call, address: (own) => this.address(hash(own)) },
    });
    await view.ready();
    const trouble = view.trouble();
    if (turn !== this.turn || trouble) {
      view.destroy();
      box.remove();
      if (trouble && turn === this.turn) this.fail(trouble);
      return;
    }
    if (this.shown) {
      this.shown.view.destroy();
      this.shown.box.remove();
    }
    box.classList.remove("ex-next");
    this.shown = { asked, view, box };
    this.title = `${payload.title} · headscope explorer`;
    if (!this.element.hidden) document.title = this.title;
    this.onAddress(asked, view.hash(), fresh);
  }

  // The address of the displayed text, for a return to this part.
  readdress() {
    this.onAddress(this.shown.asked, this.shown.view.hash(), true);
  }

  // An address was opened: the same text in another state, or another text.
  go(asked, state) {
    const whole = { ...asked, model: asked.model || this.told.models[0], text: asked.text || this.told.example };
    if (this.shown && JSON.stringify(requestOf(whole)) === JSON.stringify(requestOf(this.shown.asked))) {
      this.turn++;
      this.form.show(whole);
      this.tell("");
      this.shown.view.show(/(^|&)view=/.test(state) ? state : `view=all&${state}`);
      return;
    }
    this.look(whole, /(^|&)view=/.test(state) ? state : `view=all&${state}`, false);
  }

  tell(text) {
    this.status.textContent = text;
  }

  fail(text) {
    this.tell("");
    this.trouble.textContent = text;
    this.trouble.hidden = false;
  }
}
