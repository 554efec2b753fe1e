// A view in a notebook's cell: data and state are the widget's, the drawing stays behind a shadow root.
import { mountAttention } from "./attention_app.js";
import { el } from "../core/dom.js";
import { embeddedSource } from "./embedded_source.js";

// JupyterLab and VS Code say on the body whether they are dark; others leave it to the system.
function schemeOfHost() {
  const { body } = document;
  if (body.dataset.jpThemeLight) return body.dataset.jpThemeLight === "false" ? "dark" : "light";
  if (body.classList.contains("vscode-dark") || body.classList.contains("vscode-high-contrast")) return "dark";
  return body.classList.contains("vscode-light") ? "light" : null;
}

export function render({ model, el: cell }) {
  const box = el("div", {});
  cell.append(box);
  const root = box.attachShadow({ mode: "open" });
  root.append(el("style", {}, model.get("style")));
  const main = el("div", { style: `--hs-height:${model.get("height")}px` });
  root.append(main);
  try {
    const payload = JSON.parse(new TextDecoder().decode(model.get("data")));
    let written = model.get("state");
    const view = mountAttention(main, {
      source: embeddedSource(payload),
      state: written,
      onState: (_, hash) => {
        written = hash;
        model.set("state", hash);
        model.save_changes();
      },
      host: { call: payload.call, scheme: schemeOfHost() },
    });
    const follow = () => model.get("state") !== written && view.show((written = model.get("state")));
    model.on("change:state", follow);
    return () => {
      model.off("change:state", follow);
      view.destroy();
    };
  } catch (error) {
    main.append(el("p", { class: "hs-trouble", role: "alert" }, error.message));
    return () => {};
  }
}
