// The explorer's page: type a sentence, see every view of it; with a study, its heads as the way in.
import { el } from "./dom.js";
import { ExplorerApi } from "./explorer_api.js";
import { readAsked, stateOfHash, writeAsked } from "./explorer_link.js";
import { SentencePart } from "./explorer_sentence.js";
import { takeToken } from "./explorer_token.js";

const mainElement = document.getElementById("app");

function openExplorer() {
  const told = JSON.parse(document.getElementById("explorer").textContent);
  const address = (hash) => `${location.origin}/#${hash}`;
  const write = (asked, state, fresh) => {
    const hash = `#${[writeAsked(asked), state].filter(Boolean).join("&")}`;
    if (hash === location.hash) return;
    if (fresh) history.pushState(null, "", hash);
    else history.replaceState(null, "", hash);
  };
  const sentence = new SentencePart({ api: new ExplorerApi(takeToken()), told, onAddress: write, address });
  mainElement.classList.add("hs-page", "ex-page");
  mainElement.append(el("header", { class: "ex-top" }, el("h1", {}, "headscope explorer"), sentence.form.modelField), sentence.element);
  const go = () => sentence.go(readAsked(location.hash), stateOfHash(location.hash));
  window.addEventListener("popstate", go);
  go();
}

try {
  openExplorer();
} catch (error) {
  mainElement.append(el("p", { class: "hs-trouble", role: "alert" }, error.message));
}
