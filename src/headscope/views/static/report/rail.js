// The rail with the contents: on a phone a button opens it; a link closes it again.
export function foldRail(nav) {
  const button = nav.querySelector("button");
  const set = (open) => {
    nav.classList.toggle("closed", !open);
    button.setAttribute("aria-expanded", String(open));
  };
  button.addEventListener("click", () => set(nav.classList.contains("closed")));
  nav.addEventListener("click", (event) => event.target.closest("a") && set(false));
  nav.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || nav.classList.contains("closed")) return;
    set(false);
    button.focus();
  });
  set(false);
}

// Open every fold around a part of the page, so that it can be seen.
export function unfold(part) {
  for (let fold = part.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
}
