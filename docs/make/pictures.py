"""Make the pictures of README and the gallery, from a report and the explorer: `make pictures`.

`docs/images/probes.png` is of a report with probes, which takes long: it is made where one is named. That of heads
while they form is made by `heads_forming.py`.
"""

import argparse
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

IMAGES = Path(__file__).parents[1] / "images"
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
SENTENCE = "The cat sat on the mat, because it was warm."
MARGIN = 24
READ = ("1-1", "2-8", "4-2")
CARD = 1500
"""Heads whose cards are explained in `docs/atlas.md`, and the height of the shown part of a card, in pixels."""


def of_report(browser: Browser, study: Path) -> None:
    """Write the first screen, table 1 and figure 6 of a report."""
    page = opened(browser, study, width=1280, height=900)
    page.screenshot(path=IMAGES / "report-light.png")
    part_of(page, "#section-syntax", IMAGES / "syntax.png", height=1000)
    part_of(page, "#section-distances .maps", IMAGES / "distances.png", height=760)


def of_probes(browser: Browser, study: Path) -> None:
    """Write table 3 of a report."""
    part_of(opened(browser, study, width=1280, height=900), "#section-probes", IMAGES / "probes.png", height=790)


def of_explorer(browser: Browser, study: Path) -> None:
    """Write a picture of the explorer with every view of a sentence."""
    with explorer(study) as address:
        page = browser.new_page(viewport={"width": 1400, "height": 1380})
        page.goto(address)
        page.get_by_text("Sentence", exact=True).first.click()
        page.locator("textarea").first.fill(SENTENCE)
        page.get_by_role("button", name="Look").click()
        page.locator(".ex-views > div:not(.ex-next) .hs-attention").first.wait_for()
        page.wait_for_timeout(1000)
        page.screenshot(path=IMAGES / "explorer.png")


def of_cards(browser: Browser, study: Path) -> None:
    """Write the cards of the decoder that `docs/atlas.md` explains, down to the distribution over all rows."""
    page = browser.new_page(viewport={"width": 900, "height": 4200})
    for head in READ:
        page.goto((study / "atlas" / "index.html").resolve().as_uri() + f"#decoder-{head}")
        page.reload()
        page.wait_for_timeout(1000)
        part_of(page, ".at-card", IMAGES / f"card-{head}.png", height=CARD)


def opened(browser: Browser, study: Path, *, width: int, height: int) -> Page:
    """Open a study's report."""
    page = browser.new_page(viewport={"width": width, "height": height})
    page.goto((study / "report.html").resolve().as_uri())
    page.wait_for_timeout(1000)
    return page


def part_of(page: Page, selector: str, path: Path, *, height: int) -> None:
    """Write a picture of the top of a part of a page, at most `height` pixels high."""
    # The table of contents is sticky, and would cover the part.
    page.add_style_tag(content="nav{position:static!important}")
    # Parts of the evidence are folded until they are opened.
    box = page.locator(selector).first.evaluate(
        "e => { for (let fold = e.closest('details'); fold; fold = fold.parentElement.closest('details')) fold.open = true;"
        " const box = e.getBoundingClientRect();"
        " return [box.left + scrollX, box.top + scrollY, box.width, box.height]; }"
    )
    left, top, width, whole = box
    clip = {"x": max(0.0, left - MARGIN), "y": top, "width": width + 2 * MARGIN, "height": min(float(height), whole)}
    page.screenshot(path=path, full_page=True, clip=clip)


@contextmanager
def explorer(study: Path) -> Iterator[str]:
    """Run the explorer on a study; yield its address."""
    command = [sys.executable, "-m", "headscope", "explore", "--study", str(study), "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield next(line for line in process.stdout if line.startswith("explorer: ")).split()[1]
        finally:
            process.terminate()


def main() -> None:
    """Write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", type=Path, default=Path("demo-report"), help="of `make demo`")
    parser.add_argument("--decoder", type=Path, default=Path("demo-report-decoder"), help="the other one")
    parser.add_argument("--probes", type=Path, help="a report with probes (--treebank-train)")
    asked = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("pictures are taken with Chromium, which is not on the path; apt-get install chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        of_report(browser, asked.study)
        of_explorer(browser, asked.study)
        of_cards(browser, asked.decoder)
        if asked.probes is not None:
            of_probes(browser, asked.probes)
    cards = (f"card-{head}" for head in READ)
    probes = ("probes",) if asked.probes else ()
    for name in ("report-light", "syntax", "distances", "explorer", *cards, *probes):
        smaller(IMAGES / f"{name}.png")


def smaller(path: Path) -> None:
    """Write a picture with 256 colors, of which pages have fewer."""
    Image.open(path).convert("RGB").quantize(256).save(path, optimize=True)


if __name__ == "__main__":
    main()
