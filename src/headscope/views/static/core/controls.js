// Controls: each is {element, show(...)}; a choice calls `onPick`, and `show` displays the current choice.
import { el } from "./dom.js";

// A row of tabs; arrow keys move along it. `panel` is the id of the element that they change.
export function tabRow({ label, panel, prefix, onPick }) {
  let buttons = [];
  const element = el("div", { class: "hs-tabs", role: "tablist", "aria-label": label });
  const build = (options) => {
    buttons = options.map(([value, text], place) =>
      el(
        "button",
        {
          type: "button",
          role: "tab",
          id: `${prefix}-${value}`,
          "data-value": value,
          "aria-controls": panel,
          onclick: () => onPick(value),
          onkeydown: (event) => {
            const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
            if (!step) return;
            event.preventDefault();
            const next = buttons[(place + step + buttons.length) % buttons.length];
            next.focus();
            onPick(next.dataset.value);
          },
        },
        text,
      ),
    );
    element.replaceChildren(...buttons);
  };
  return {
    element,
    show(value, options) {
      if (String(options) !== element.dataset.options) build(options);
      element.dataset.options = String(options);
      element.hidden = options.length < 2;
      for (const button of buttons) {
        const on = button.dataset.value === value;
        button.setAttribute("aria-selected", String(on));
        button.tabIndex = on ? 0 : -1;
      }
    },
  };
}

export function selectField({ label, onPick, steps = false }) {
  const select = el("select", { onchange: () => onPick(select.value) });
  const move = (by) => {
    const to = Math.min(select.options.length - 1, Math.max(0, select.selectedIndex + by));
    if (to !== select.selectedIndex) onPick(select.options[to].value);
  };
  const step = (by, mark, name) => el("button", { type: "button", class: "hs-step", "aria-label": `${name} ${label.toLowerCase()}`, onclick: () => move(by) }, mark);
  const [back, on] = [step(-1, "‹", "Previous"), step(1, "›", "Next")];
  const element = el("div", { class: "hs-field" }, el("label", {}, el("span", {}, label), select), steps ? [back, on] : null);
  return {
    element,
    show(value, options) {
      if (String(options) !== select.dataset.options) {
        select.replaceChildren(...options.map(([name, text]) => el("option", { value: name }, text)));
        select.dataset.options = String(options);
      }
      select.value = value;
      back.disabled = select.selectedIndex <= 0;
      on.disabled = select.selectedIndex >= options.length - 1;
    },
  };
}

export function checkField({ label, onPick }) {
  const input = el("input", { type: "checkbox", onchange: () => onPick(input.checked) });
  const words = el("span", {}, label);
  return {
    element: el("div", { class: "hs-field" }, el("label", {}, input, words)),
    show(value, text = label) {
      input.checked = value;
      words.textContent = text;
    },
  };
}

// A slider over steps, with the name of the step as its label.
export function stepField({ label, onPick }) {
  const input = el("input", { type: "range", min: 0, step: 1, oninput: () => onPick(Number(input.value)) });
  const words = el("output", {});
  const off = el("button", { type: "button", class: "hs-plain", onclick: () => onPick(-1) }, "all steps");
  return {
    element: el("div", { class: "hs-field hs-steps" }, el("label", {}, el("span", {}, label), input), words, off),
    show(value, count, text) {
      input.max = count - 1;
      input.value = Math.max(0, value);
      input.setAttribute("aria-valuetext", text);
      words.textContent = text;
      off.hidden = value < 0;
    },
  };
}

// `verb` is left out where there is little room.
export function actionButton(verb, text, title, onclick) {
  return el("button", { type: "button", class: "hs-action", title, "aria-label": `${verb} ${text}`, onclick }, el("span", { class: "hs-verb" }, `${verb} `), text);
}
