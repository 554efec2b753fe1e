// Terms of the glossary are linked where a section first uses them; hover or keyboard focus shows their meaning.
import { el } from "../core/dom.js";
import { upper } from "../core/format.js";

const READ = ".findings p, .lead p, .finding, .why, .caption, thead th";
const APART = "a, button, summary";

// A name as it may be written: "Held out" also as "held-out", "Sink" also as "sinks".
function written(name) {
  return name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/[\s-]+/g, "[\\s-]");
}

export function termPattern(names) {
  const longestFirst = [...names].sort((a, b) => b.length - a.length);
  return new RegExp(`(?<![\\p{L}\\p{N}-])(${longestFirst.map(written).join("|")})s?(?![\\p{L}\\p{N}-])`, "giu");
}

const bare = (name) => name.toLowerCase().replace(/[\s-]+/g, " ");

// `glossary`: the list of terms, each a `dt` before its `dd`.
export function markTerms(root, glossary) {
  const entries = new Map([...glossary.querySelectorAll("dt")].map((term) => [bare(term.textContent), term]));
  const pattern = termPattern([...glossary.querySelectorAll("dt")].map((term) => term.textContent));
  const tip = el("div", { class: "term-tip", role: "tooltip", id: "term-tip", hidden: true });
  document.body.append(tip);
  const met = new Map();
  for (const part of root.querySelectorAll(READ)) {
    const section = part.closest("section[id]") || root;
    if (!met.has(section)) met.set(section, new Set());
    for (const node of textsOf(part)) mark(node, met.get(section));
  }

  function mark(node, known) {
    for (const match of node.data.matchAll(pattern)) {
      const name = bare(match[1]);
      if (known.has(name)) continue;
      known.add(name);
      const word = node.splitText(match.index);
      const rest = word.splitText(match[0].length);
      const term = el("a", { class: "term", href: `#${entries.get(name).id}`, "data-term": name });
      word.replaceWith(term);
      term.append(word);
      mark(rest, known);
      return;
    }
  }

  function show(term) {
    tip.hidden = !term;
    if (!term) return;
    term.setAttribute("aria-describedby", tip.id);
    tip.textContent = upper(entries.get(term.dataset.term).nextElementSibling.textContent);
    const box = term.getBoundingClientRect();
    const left = Math.min(Math.max(8, box.left), document.documentElement.clientWidth - tip.offsetWidth - 8);
    const above = box.top - tip.offsetHeight - 6;
    tip.style.left = `${left + window.scrollX}px`;
    tip.style.top = `${(above < 4 ? box.bottom + 6 : above) + window.scrollY}px`;
  }

  const termOf = (event) => event.target.closest(".term");
  document.addEventListener("mouseover", (event) => show(termOf(event) || termOf({ target: document.activeElement })));
  root.addEventListener("focusin", (event) => show(termOf(event)));
  root.addEventListener("focusout", () => show(null));
  document.addEventListener("keydown", (event) => event.key === "Escape" && show(null));
}

function textsOf(part) {
  const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) if (!walker.currentNode.parentElement.closest(APART)) texts.push(walker.currentNode);
  return texts;
}
