// A figure that is wider than its box scrolls in it, also by keyboard: it is a tab stop as long as it does.
export function followScrolls(figures) {
  const observer = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    }
  });
  for (const figure of figures) observer.observe(figure);
}
