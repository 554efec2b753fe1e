// The reader's position in the address: "#section-syntax&encoder-8-10", the section and the opened head.
import { anchorOf, headAt } from "./data.js";

const NEAR_TOP = 0.35;

export function readPlace(hash) {
  const parts = hash.replace(/^#/, "").split("&");
  return { section: parts.find((part) => part.startsWith("section-")) || null, head: parts.map(headAt).find(Boolean) || null };
}

export function placeWritten({ section, head }) {
  return `#${[section, head && anchorOf(head.kind, head.index)].filter(Boolean).join("&")}`;
}

// Follow the reader down the page: mark the section's line in the contents, and tell `onSection(id or null)`.
export function followSections(nav, onSection) {
  const links = [...nav.querySelectorAll("a[href^='#section-']")];
  const parts = links.map((link) => [link, document.getElementById(link.getAttribute("href").slice(1))]).filter(([, part]) => part);
  let current = null;
  let waiting = false;

  function look() {
    waiting = false;
    const line = window.innerHeight * NEAR_TOP;
    const above = parts.filter(([, part]) => part.checkVisibility() && part.getBoundingClientRect().top <= line);
    const [link, part] = above.at(-1) || [null, null];
    const id = part && part.id;
    if (id === current) return;
    current = id;
    for (const one of links) {
      if (one === link) one.setAttribute("aria-current", "true");
      else one.removeAttribute("aria-current");
    }
    // Scroll the marked line of the contents into view.
    if (link && nav.scrollHeight > nav.clientHeight) nav.scrollTop = link.offsetTop - nav.clientHeight / 3;
    onSection(id);
  }

  window.addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(look);
  }, { passive: true });
  look();
}
