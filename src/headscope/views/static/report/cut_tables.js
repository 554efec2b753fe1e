// A long table shows its first ten rows, and all rows on demand; the most important rows come first.
import { el } from "../core/dom.js";

const SHOWN = 10;
const LONGEST_WHOLE = 12;

// A table that a reader sees whole, such as one line a layer, has `data-whole`.
export function cutTables(root) {
  for (const table of root.querySelectorAll(".evidence table:not([data-whole], .heat, #table-heads)")) cut(table);
}

function cut(table) {
  const groups = [...table.tBodies].map((body) => [...body.rows].filter((row) => !row.querySelector(":scope > .group")));
  const long = groups.filter((rows) => rows.length > LONGEST_WHOLE);
  if (!long.length) return;
  for (const rows of long) rows.slice(SHOWN).forEach((row) => row.classList.add("beyond"));
  const all = groups.flat().length;
  const button = el("button", { type: "button", class: "more-rows" });
  const set = (open) => {
    table.classList.toggle("cut", !open);
    button.setAttribute("aria-expanded", String(open));
    button.textContent = open ? `Show the first ${SHOWN} rows` : `Show all ${all.toLocaleString("en")} rows`;
  };
  button.addEventListener("click", () => {
    set(table.classList.contains("cut"));
    if (table.classList.contains("cut")) button.scrollIntoView({ block: "nearest" });
  });
  (table.closest(".scroll") || table).after(button);
  set(false);
}
