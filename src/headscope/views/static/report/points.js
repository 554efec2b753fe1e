// Points of the figures name their head under the pointer, and open its card.
import { el } from "../core/dom.js";
import { headAt } from "./data.js";
import { describe } from "./grid.js";

// A point lies in a group whose id ends in heads--kind--statistic--role.
function pointUnder(event) {
  const point = event.target.closest("svg.figure [data-head]");
  if (!point) return null;
  const [kind, statistic] = point.closest("g[id*='heads--']").id.split("heads--")[1].split("--");
  const head = headAt(`${kind}-${point.dataset.head}`);
  return head && { ...head, statistic, box: point.getBoundingClientRect() };
}

export function namePoints(root, onOpen) {
  const tip = el("div", { class: "tip", role: "tooltip", hidden: true });
  document.body.append(tip);
  root.addEventListener("click", (event) => {
    const head = pointUnder(event);
    if (head) onOpen(head);
  });
  root.addEventListener("mouseover", (event) => {
    const head = pointUnder(event);
    tip.hidden = !head;
    if (!head) return;
    tip.textContent = describe(head.kind, head.index, head.statistic);
    const width = tip.offsetWidth;
    const wanted = head.box.left + head.box.width / 2 - width / 2;
    const left = Math.min(Math.max(8, wanted), document.documentElement.clientWidth - width - 8);
    tip.style.left = `${left + window.scrollX}px`;
    tip.style.top = `${head.box.top + window.scrollY - tip.offsetHeight - 6}px`;
  });
}
