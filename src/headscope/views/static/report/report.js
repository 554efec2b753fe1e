// The report's page: the grid, the card and the table share one opened head, which the address names.
import { anchorOf, data, headAt } from "./data.js";
import { showCard } from "./card.js";
import { HeadGrid, legend } from "./grid.js";
import { namePoints } from "./points.js";
import { HeadTable } from "./table.js";
import { colourBy, kindTabs } from "./tabs.js";

const at = (id) => document.getElementById(id);
const card = at("card");
const grid = new HeadGrid(at("grid"), at("readout"), (index) => open(grid.kind, index, { write: true }));
const markTab = kindTabs(at("kinds"), (kind) => {
  showKind(kind);
  open(kind, 0, {});
});

function showKind(kind) {
  grid.show(kind);
  legend(at("legend"), grid);
  markTab(kind);
}

function open(kind, index, { write = false, reveal = write }) {
  if (grid.kind !== kind) showKind(kind);
  grid.open(index);
  showCard(card, kind, index);
  if (write) {
    try {
      history.replaceState(null, "", `#${anchorOf(kind, index)}`);
    } catch {
      // A page without an address of its own (a notebook's frame) cannot write one.
    }
  }
  const box = card.getBoundingClientRect();
  const seen = box.top >= -1 && box.top < window.innerHeight * 0.6;
  if (reveal && !seen) card.scrollIntoView({ block: "start", behavior: "smooth" });
}

function follow() {
  const head = headAt(location.hash.slice(1));
  if (head) open(head.kind, head.index, { reveal: true });
  return head;
}

// Go to a head from further down the page: the address keeps where the reader was, so that "back" returns there.
function visit(head) {
  try {
    history.pushState(null, "", `#${anchorOf(head.kind, head.index)}`);
  } catch {
    // See above.
  }
  open(head.kind, head.index, { reveal: true });
  card.focus({ preventScroll: true });
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='#']");
  const head = link && headAt(link.getAttribute("href").slice(1));
  if (!head) return;
  event.preventDefault();
  visit(head);
});
window.addEventListener("popstate", follow);

colourBy(at("colour-by"), (statistic) => {
  grid.statistic = statistic;
  grid.role = null;
  grid.paint();
  legend(at("legend"), grid);
});
showKind(data.kinds[0]);
if (!follow()) {
  const first = headAt(card.dataset.first || "") || { kind: data.kinds[0], index: 0 };
  open(first.kind, first.index, {});
}
new HeadTable(at("heads"), at("filters"), at("heads-status"));
namePoints(document.querySelector("main"), visit);

// Paper has no folds.
window.addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});
