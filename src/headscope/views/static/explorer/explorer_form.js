// The explorer's form: a sentence and the model; rarely needed fields are folded.
import { el } from "../core/dom.js";

export class ExplorerForm {
  // `onLook()`: Enter or the button; `onModel()`: another model was chosen.
  constructor({ models, limits, onLook, onModel }) {
    const area = (name, rows, hint) => el("textarea", { name, rows, maxlength: limits.characters, autocomplete: "off", spellcheck: "false", placeholder: hint, onkeydown: (event) => this.key(event) });
    this.onLook = onLook;
    this.text = area("text", 2, "Type a sentence, then Enter");
    this.second = area("text_b", 1, "The second text of a pair");
    this.decoder = area("decoder_text", 1, "The same text when empty");
    this.generate = el("input", { type: "number", name: "generate", min: 0, max: limits.generate, step: 1, value: 0, onkeydown: (event) => this.key(event) });
    this.model = el("select", { name: "model", onchange: onModel }, models.map((name) => el("option", { value: name }, name)));
    const field = (label, control) => el("label", { class: "ex-field" }, el("span", {}, label), control);
    this.modelField = models.length > 1 ? field("Model", this.model) : el("p", { class: "ex-model" }, models[0]);
    this.decoderField = field("Text of the decoder", this.decoder);
    this.generateField = field("Let the model write tokens", this.generate);
    this.more = el("details", { class: "ex-more" }, el("summary", {}, "Second text and more"), el("div", { class: "ex-fields" }, field("Second text", this.second), this.decoderField, this.generateField));
    const submit = (event) => {
      event.preventDefault();
      onLook();
    };
    this.element = el("form", { class: "ex-form", onsubmit: submit }, el("div", { class: "ex-line" }, el("label", { class: "ex-field ex-sentence" }, el("span", {}, "Sentence"), this.text), el("button", { type: "submit", class: "ex-look" }, "Look")), this.more);
    this.abilities(null);
  }

  // Enter looks; Shift and Enter is a new line; an input method's Enter is its own.
  key(event) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.onLook();
  }

  // `model`: the server's description of the model, or null; fields that the model does not use are hidden.
  abilities(model) {
    this.decoderField.hidden = !(model && model.decoder);
    this.generateField.hidden = !(model && model.writes);
  }

  // Models that could not be loaded say so in their name.
  mark(models) {
    for (const { name, state } of models) {
      const option = [...this.model.options].find(({ value }) => value === name);
      if (option) option.textContent = state === "failed" ? `${name} (not loaded)` : name;
    }
  }

  show({ model, text, text_b, decoder_text, generate }) {
    this.model.value = model;
    this.text.value = text || "";
    this.second.value = text_b || "";
    this.decoder.value = decoder_text || "";
    this.generate.value = generate || 0;
    if (text_b || decoder_text || generate) this.more.open = true;
  }

  // The current request; hidden fields are left out.
  read() {
    const most = Number(this.generate.max);
    const generate = this.generateField.hidden ? 0 : Math.max(0, Math.min(most, Math.floor(Number(this.generate.value) || 0)));
    return { model: this.model.value, text: this.text.value, text_b: this.second.value, decoder_text: this.decoderField.hidden ? "" : this.decoder.value, generate };
  }
}
