// The type of every drawing: that of the page.
export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';

export function fontOf(size, bold) {
  return `${bold ? "bold " : ""}${size}px ${FONT}`;
}
