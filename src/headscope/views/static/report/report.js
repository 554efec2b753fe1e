// The report's page: the grid, the card and the table share one opened head, which the address names.
import { data, headAt } from "./data.js";
import { showCard } from "./card.js";
import { CircuitMap, placeCircuits } from "./circuit.js";
import { cutTables } from "./cut_tables.js";
import { Dock } from "./dock.js";
import { HeadGrid, legend } from "./grid.js";
import { HeadScatter } from "./head_scatter.js";
import { followSections, placeWritten, readPlace } from "./place.js";
import { PinnedSentence } from "./pinned.js";
import { namePoints } from "./points.js";
import { foldRail, unfold } from "./rail.js";
import { followScrolls } from "./scrolls.js";
import { HeadTable } from "./table.js";
import { markTerms } from "./terms.js";
import { colorBy, kindTabs } from "./tabs.js";

const at = (id) => document.getElementById(id);
const card = at("card");
const dock = new Dock(card, document.querySelector(".first"));
const place = { section: null, head: null };
const grid = new HeadGrid(at("grid"), at("readout"), (index) => {
  open(grid.kind, index, { reveal: true });
  write(grid.kind, index);
});
const circuit = at("circuit") && new CircuitMap(grid, at("circuit"));
const markTab = kindTabs(at("kinds"), (kind) => {
  showKind(kind);
  open(kind, 0, {});
});

const scatter = new HeadScatter(at("head-scatter"), (kind, index) => visit({ kind, index }));

const pinned = new PinnedSentence(at("pinned"), (shares) => grid.light(shares), () => showCard(card, grid.kind, grid.opened, pinned.pinned));

function showKind(kind) {
  grid.show(kind);
  if (circuit) circuit.show(kind);
  pinned.show(kind);
  scatter.show(kind);
  legend(at("legend"), grid);
  markTab(kind);
}

function open(kind, index, { reveal = false }) {
  if (grid.kind !== kind) showKind(kind);
  grid.open(index);
  showCard(card, kind, index, pinned.pinned);
  if (dock.docked) card.prepend(dock.close);
  if (reveal) dock.show();
}

// `how`: replaceState, or pushState where "back" shall return to where the reader was.
function write(kind, index, how = "replaceState") {
  place.head = { kind, index };
  address(how);
}

function address(how) {
  try {
    history[how](null, "", placeWritten(place));
  } catch {
    // A page without an address of its own (a notebook's frame) cannot write one.
  }
}

// Go to the section of the address, and open the card of its head.
function follow() {
  const { section, head } = readPlace(location.hash);
  Object.assign(place, { section, head });
  const part = section && at(section);
  if (part) {
    unfold(part);
    part.scrollIntoView({ block: "start" });
  }
  if (head) open(head.kind, head.index, { reveal: true });
  return head;
}

// Open a head from further down the page: its card comes to the reader.
function visit(head) {
  dock.from = document.activeElement;
  write(head.kind, head.index, "pushState");
  open(head.kind, head.index, { reveal: true });
  card.focus({ preventScroll: true });
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='#']");
  const anchor = link && link.getAttribute("href").slice(1);
  const head = link && headAt(anchor);
  if (!head) {
    const part = link && at(anchor);
    if (part) unfold(part);
    return;
  }
  event.preventDefault();
  visit(head);
});
window.addEventListener("popstate", follow);

colorBy(at("color-by"), (statistic) => {
  grid.colorBy = statistic;
  grid.role = null;
  grid.paint();
  legend(at("legend"), grid);
});
showKind(data.kinds[0]);
placeCircuits(document.querySelector("main"), visit);
// Before the address is followed: the page is as long as it will be.
new HeadTable(at("heads"), at("filters"), at("heads-status"));
cutTables(document.querySelector("main"));
namePoints(document.querySelector("main"), visit);
followScrolls(document.querySelectorAll("figure:has(.figure)"));
markTerms(document.querySelector("main"), at("glossary"));
if (!follow()) {
  const first = headAt(card.dataset.first || "") || { kind: data.kinds[0], index: 0 };
  open(first.kind, first.index, {});
}
const nav = document.querySelector("nav");
foldRail(nav);
followSections(nav, (section) => {
  // The first screen names no section, so that a page just opened keeps its address.
  if (section === place.section || (section === null && !location.hash)) return;
  place.section = section;
  address("replaceState");
});

// On paper folds are as the reader has left them.
window.addEventListener("beforeprint", () => dock.leave());
