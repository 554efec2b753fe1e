// The atlas as a page in a single file: its address names the opened heads.
import { atlas } from "./atlas_data.js";
import { mountAtlas } from "./atlas_app.js";
import { el } from "../core/dom.js";

const host = document.getElementById("app");

function openAtlas() {
  host.append(
    el(
      "header",
      {},
      el("h1", {}, `Head atlas of ${atlas.model}`),
      el("p", { class: "run" }, atlas.run, atlas.report ? [" · ", el("a", { href: atlas.report }, "the report")] : null),
    ),
  );
  const mounted = mountAtlas(host, {
    onHead: (anchor) => {
      try {
        history.replaceState(null, "", `#${anchor}`);
      } catch {
        // A page without an address of its own (a notebook's frame) cannot write one.
      }
    },
  });
  mounted.show(location.hash);
  window.addEventListener("hashchange", () => mounted.show(location.hash));
}

openAtlas();
