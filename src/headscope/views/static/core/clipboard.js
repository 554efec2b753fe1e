// Copying text, also where a page may not use the clipboard directly.
import { el } from "./dom.js";

// Whether `text` is on the clipboard afterwards.
export async function copyText(text, box) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = el("textarea", { class: "hs-hidden", "aria-hidden": "true" });
    field.value = text;
    box.append(field);
    field.select();
    const copied = document.execCommand("copy");
    field.remove();
    return copied;
  }
}
