// Tabs for the kinds of attention, and the choice of the grid's coloring.
import { el } from "../core/dom.js";
import { data } from "./data.js";
import { BY_ROLE } from "./grid.js";

export function kindTabs(box, onPick) {
  if (data.kinds.length < 2) return () => {};
  const buttons = data.kinds.map((kind, place) =>
    el(
      "button",
      {
        type: "button",
        role: "tab",
        "aria-controls": "grid",
        "data-kind": kind.kind,
        onclick: () => onPick(kind),
        onkeydown: (event) => {
          const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
          if (!step) return;
          event.preventDefault();
          const next = (place + step + buttons.length) % buttons.length;
          buttons[next].focus();
          onPick(data.kinds[next]);
        },
      },
      kind.kind,
    ),
  );
  box.setAttribute("role", "tablist");
  box.setAttribute("aria-label", "Kind of attention");
  box.replaceChildren(...buttons);
  return (kind) =>
    buttons.forEach((button) => {
      const on = button.dataset.kind === kind.kind;
      button.setAttribute("aria-selected", String(on));
      button.tabIndex = on ? 0 : -1;
    });
}

// Entries of the choice at first; the last one, "more ...", shows all.
const FEW = 20;
const MORE = "more";

export function colorBy(box, onPick) {
  const option = ({ name, label, says }) => el("option", { value: name }, says ? `${label}: ${says}` : label);
  const topics = { "What it looks at": data.statistics, "How well it finds": data.relations || [] };
  for (const one of data.measures || []) (topics[one.topic] = topics[one.topic] || []).push(one);
  const groups = Object.entries(topics).filter(([, measures]) => measures.length);
  const first = data.looks ? [el("option", { value: "" }, "what heads look at"), el("option", { value: BY_ROLE }, "role")] : [el("option", { value: "" }, "role")];
  const every = groups.flatMap(([label, measures]) => measures.map((measure) => ({ label, measure })));
  const entries = (most) => {
    const some = every.slice(0, Math.max(0, most - first.length));
    const parts = groups.map(([label]) => [label, some.filter((each) => each.label === label).map((each) => option(each.measure))]);
    const nested = parts.filter(([, options]) => options.length).map(([label, options]) => el("optgroup", { label }, options));
    const more = some.length < every.length ? [el("option", { value: MORE }, "more …")] : [];
    return [...first.map((one) => one.cloneNode(true)), ...(groups.length > 1 ? nested : parts.flatMap(([, options]) => options)), ...more];
  };
  const picked = (select) => {
    if (select.value !== MORE) return onPick(select.value || null);
    select.replaceChildren(...entries(Infinity));
    select.value = "";
    select.focus();
    return onPick(null);
  };
  box.replaceChildren(
    el(
      "label",
      {},
      "Color by ",
      el(
        "select",
        { id: "color", onchange: (event) => picked(event.target) },
        entries(FEW),
      ),
    ),
  );
}
