"""Redraw times of the head view in Chromium, 512 tokens x 12 heads: hover (target 33 ms), switching a head, scrolling.

A hover is timed from the pointer event to the second frame after it, with the canvases forced to draw.
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from headscope.views.attention_page import attention_page
from support.browser import ARGUMENTS, CHROMIUM
from support.made_maps import long_text

# Time in the page until its canvases hold the picture: handlers, style, layout, and drawing.
TIMED = """async ([selector, places]) => {
  const root = document.querySelector(".hs-head");
  const force = () => {
    document.body.offsetHeight;
    for (const canvas of root.querySelectorAll("canvas")) {
      const seen = canvas.width > 1 && getComputedStyle(canvas).visibility !== "hidden";
      if (seen) canvas.getContext("2d").getImageData(0, 0, 1, 1);
    }
  };
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const times = { work: [], frame: [] };
  for (const place of places) {
    const row = root.querySelectorAll(selector)[place];
    await frame();
    const began = performance.now();
    row.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
    force();
    times.work.push(performance.now() - began);
    await frame();
    await frame();
    times.frame.push(performance.now() - began);
  }
  root.querySelector(selector).parentElement.dispatchEvent(new PointerEvent("pointerleave"));
  return times;
}"""
ACTED = """async (action) => {
  const root = document.querySelector(".hs-head");
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const began = performance.now();
  if (action === "head") document.querySelector(".hs-chips button").click();
  if (action === "scroll") root.querySelector(".hs-scroll").scrollTop += 1500;
  await frame();
  await frame();
  while (root.querySelector(".hs-lines").getAttribute("aria-busy") === "true") await frame();
  return performance.now() - began;
}"""


def main(tokens: int, heads: int) -> None:
    from playwright.sync_api import sync_playwright

    view = long_text(tokens=tokens, heads=heads, layers=1)
    drawn = int((view.kinds[0].weights >= 0.01).sum())
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        path = Path(folder) / "long.html"
        path.write_text(attention_page(view), encoding="utf-8")
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(path.as_uri())
        page.wait_for_selector(".hs-head:not([hidden]) .hs-count:not(:empty)")
        page.wait_for_timeout(1500)
        print(f"{tokens} tokens, {heads} heads: {page.locator('.hs-head .hs-count').inner_text()}")
        print(f"  weights of 0.01 or more in the model's own numbers: {drawn:,}")
        for side in ("query", "key"):
            times = page.evaluate(TIMED, [f".hs-{side} li", list(range(3, 33))])
            work, frame = (statistics.median(times[name]) for name in ("work", "frame"))
            print(
                f"  hover over a {side}: median of 30 {work:.1f} ms of work (worst {max(times['work']):.1f}), "
                f"{frame:.1f} ms to the second frame"
            )
        for action, name in (("head", "one head switched"), ("scroll", "scrolled to lines not yet drawn")):
            took = statistics.median(page.evaluate(ACTED, action) for _ in range(5))
            print(f"  {name}: {took:.0f} ms until all lines in view are drawn")
        browser.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--heads", type=int, default=12)
    options = parser.parse_args()
    main(options.tokens, options.heads)
