// A page that is a single file: its data lies in it, its state in the address.
import { mountAttention } from "./attention_app.js";
import { el } from "../core/dom.js";
import { embeddedSource } from "./embedded_source.js";

const main = document.getElementById("app");

function heading(payload) {
  return el("header", { class: "hs-heading" }, el("h1", {}, payload.title), payload.model ? el("p", {}, payload.model) : null);
}

// The scheme that the page's style sheet insists on, if it does.
function forcedScheme() {
  const scheme = getComputedStyle(document.documentElement).colorScheme;
  return scheme === "dark" || scheme === "light" ? scheme : null;
}

function open() {
  const payload = JSON.parse(document.getElementById("attention").textContent);
  const source = embeddedSource(payload);
  if (!document.querySelector("h1")) main.append(heading(payload));
  main.classList.add("hs-page");
  const view = mountAttention(main, {
    source,
    state: location.hash.length > 1 ? location.hash : payload.state || "",
    onState: (_, hash) => {
      try {
        history.replaceState(null, "", `#${hash}`);
      } catch {
        // A page without an address of its own (a notebook's frame) cannot write one.
      }
    },
    host: {
      // A page inside another's frame has no address of its own to share.
      address: location.protocol === "about:" ? null : (hash) => `${location.href.split("#")[0]}#${hash}`,
      call: payload.call,
      scheme: forcedScheme(),
    },
  });
  window.addEventListener("hashchange", () => view.show(location.hash));
}

try {
  open();
} catch (error) {
  main.append(el("p", { class: "hs-trouble", role: "alert" }, error.message));
}
