"""Pages of the embedded model: bytes of HTML per weight, time to write a page, time until a browser has drawn it.

Targets: 1.4 bytes per weight of data without compression and 1 with it; BertViz writes about 22. Scripts and styles
add the same 200 kB to every page.
"""

import shutil
import statistics
import tempfile
import time
from pathlib import Path

from headscope.installing import demo_text
from headscope.models.load_model import load_model
from headscope.views.attention_page import attention_page
from headscope.views.capture import AttentionReader

TOKENS = (64, 128, 256, 512)
ROUNDS = 5
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def paint_seconds(path: Path) -> tuple[float, float] | None:
    """Return the median time of a page's first contentful paint, and until its view is drawn, over several loads."""
    if CHROMIUM is None:
        return None
    from playwright.sync_api import sync_playwright

    paints, drawn = [], []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--headless", "--no-sandbox"])
        for _ in range(ROUNDS + 1):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            began = time.perf_counter()
            page.goto(path.as_uri())
            page.wait_for_selector(".hs-tokens li")
            drawn.append(time.perf_counter() - began)
            paints.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime / 1000"))
            page.close()
        browser.close()
    return statistics.median(paints[1:]), statistics.median(drawn[1:])


if __name__ == "__main__":
    reader = AttentionReader(load_model())
    text = " ".join(demo_text().read_text(encoding="utf-8").split("\n"))
    folder = Path(tempfile.mkdtemp())
    print("tokens  compressed  MB     bytes/weight  of data  written  largest error  first paint  view drawn")
    for tokens in TOKENS:
        view = reader.view(text, max_length=tokens, too_long="truncate")
        weights = view.kinds[0].weights.size
        for compress in (False, True):
            began = time.perf_counter()
            page = attention_page(view, compress=compress)
            written = time.perf_counter() - began
            path = folder / f"{tokens}-{compress}.html"
            path.write_text(page, encoding="utf-8")
            error = page.partition('"largest_error":')[2].partition(",")[0]
            data = page.partition('id="attention">')[2].partition("</script>")[0]
            shown = paint_seconds(path)
            seen = "     no Chromium" if shown is None else f"{shown[0]:9.2f} s {shown[1]:9.2f} s"
            print(
                f"{tokens:6}  {'yes' if compress else 'no':10}  {len(page) / 1e6:5.2f}  {len(page) / weights:12.3f}  "
                f"{len(data) / weights:7.3f}  {written:5.2f} s  {error:13}  {seen}"
            )
    shutil.rmtree(folder)
