// The explorer's page: type a sentence, see every view of it; with a study, its heads as the way in.
import { mountAtlas } from "../atlas/atlas_app.js";
import { tabRow } from "../core/controls.js";
import { el } from "../core/dom.js";
import { ExplorerApi } from "./explorer_api.js";
import { readAsked, stateOfHash, writeAsked } from "./explorer_link.js";
import { SentencePart } from "./explorer_sentence.js";
import { takeToken } from "./explorer_token.js";

const mainElement = document.getElementById("app");
// What the cards of the atlas link to.
const ANCHOR = /^#?((?:encoder|decoder|cross)-\d+-\d+(?:~(?:encoder|decoder|cross)-\d+-\d+)?)$/;

class ExplorerPage {
  constructor(told) {
    this.sentence = new SentencePart({
      api: new ExplorerApi(takeToken()),
      told,
      onAddress: (asked, state, fresh) => this.write([writeAsked({ ...asked, part: "" }), state], fresh, "sentence"),
      address: (hash) => `${location.origin}/#${hash}`,
    });
    this.part = "sentence";
    this.anchor = "";
    const header = el("header", { class: "ex-top" }, el("h1", {}, "headscope explorer"));
    mainElement.classList.add("hs-page", "ex-page");
    mainElement.append(header);
    if (told.study) this.withStudy(header);
    else mainElement.append(this.sentence.element);
    header.append(this.sentence.form.modelField);
    window.addEventListener("popstate", () => this.go());
    this.go();
  }

  // Two parts, each a tab: the study's heads, and the sentence.
  withStudy(header) {
    this.tabs = tabRow({ label: "Part", panel: "ex-panel", prefix: "ex-tab", onPick: (part) => this.turnTo(part) });
    this.tabs.element.classList.add("ex-tabs");
    header.append(this.tabs.element);
    this.heads = el("div", { class: "ex-heads" });
    mainElement.append(el("div", { id: "ex-panel", role: "tabpanel", tabindex: -1 }, this.heads, this.sentence.element));
    this.atlas = mountAtlas(this.heads, {
      onSentence: ({ text, kind, layer, head }) => this.showSentence(text, { view: "head", kind, layer, heads: [head] }),
      onText: (text) => this.showSentence(text, {}),
      onHead: (anchor) => {
        this.anchor = anchor;
        this.write(["part=heads", `atlas=${anchor}`], false, "heads");
      },
    });
  }

  showSentence(text, state) {
    this.show("sentence");
    window.scrollTo(0, 0);
    this.sentence.look({ ...this.sentence.form.read(), text, text_b: "", decoder_text: "", generate: 0 }, state, true);
  }

  // A tab was chosen: its part is as it was left.
  turnTo(part) {
    if (part === this.part) return;
    this.show(part);
    if (part === "heads") this.write(["part=heads", this.anchor && `atlas=${this.anchor}`], true, "heads");
    else if (this.sentence.shown) this.sentence.readdress();
    else this.sentence.go({}, "");
  }

  show(part) {
    this.part = part;
    if (!this.tabs) return;
    this.tabs.show(part, [["heads", "Heads"], ["sentence", "Sentence"]]);
    document.getElementById("ex-panel").setAttribute("aria-labelledby", `ex-tab-${part}`);
    this.heads.hidden = part !== "heads";
    this.sentence.element.hidden = part !== "sentence";
    this.sentence.form.modelField.hidden = part !== "sentence";
    document.title = part === "heads" ? "Heads · headscope explorer" : this.sentence.title;
  }

  // What the address says: a part, a head, a text, a state.
  go() {
    const { hash } = location;
    const asked = readAsked(hash);
    const linked = ANCHOR.exec(hash);
    if (this.tabs && (linked || asked.part === "heads" || (!asked.text && asked.part !== "sentence"))) {
      this.show("heads");
      this.anchor = linked ? linked[1] : asked.atlas || "";
      this.atlas.show(this.anchor);
      return;
    }
    this.show("sentence");
    this.sentence.go(asked, stateOfHash(hash));
  }

  // Only the visible part changes the address.
  write(parts, fresh, part) {
    if (part !== this.part) return;
    const hash = `#${parts.filter(Boolean).join("&")}`;
    if (hash === location.hash) return;
    if (fresh) history.pushState(null, "", hash);
    else history.replaceState(null, "", hash);
  }
}

try {
  new ExplorerPage(JSON.parse(document.getElementById("explorer").textContent));
} catch (error) {
  mainElement.append(el("p", { class: "hs-trouble", role: "alert" }, error.message));
}
