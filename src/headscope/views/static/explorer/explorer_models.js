// The server's models: polled until all of them are loaded.
import { asSentence } from "./explorer_api.js";

const PAUSE = 300;

export class ModelWatch {
  // `onChange(models)`: whenever something has changed.
  constructor(api, onChange) {
    this.api = api;
    this.onChange = onChange;
    this.models = [];
  }

  named(name) {
    return this.models.find((model) => model.name === name) || null;
  }

  async ask() {
    const models = await this.api.models();
    const changed = JSON.stringify(models) !== JSON.stringify(this.models);
    this.models = models;
    if (changed) this.onChange(models);
  }

  // Until a model is there or has failed; `tell(model)` hears of every turn.
  async settled(name, tell, signal) {
    for (;;) {
      await this.ask();
      const model = this.named(name);
      if (signal.aborted) throw new DOMException("another text was asked for", "AbortError");
      if (!model || model.state === "failed") throw new Error(model ? asSentence(model.message) : `The explorer was not started with the model ${name}; choose one of ${this.models.map((one) => one.name).join(", ")}.`);
      if (model.state === "ready") return model;
      tell(model);
      await new Promise((done) => setTimeout(done, PAUSE));
    }
  }

  // Models that nobody waits for are followed too, so that the chooser tells the truth.
  async follow() {
    if (this.following) return;
    this.following = true;
    try {
      while (this.models.some(({ state }) => state === "waiting" || state === "loading")) {
        await this.ask();
        await new Promise((done) => setTimeout(done, 3 * PAUSE));
      }
    } catch {
      // Whoever looks next hears that the server is gone.
    }
  }
}
