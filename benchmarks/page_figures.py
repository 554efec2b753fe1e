"""Size of a report's page for its reader: words, screens, tab stops, smallest type, printed pages.

python benchmarks/page_figures.py demo-report/report.html
"""

from __future__ import annotations

import argparse
import re
import shutil
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

SCREEN, PHONE = (1280, 800), (390, 844)
# Visible elements that the tab key can reach.
_TAB_STOPS = """() => [...document.querySelectorAll('a[href], button, input, select, summary, [tabindex]')]
    .filter(each => each.tabIndex >= 0 && !each.disabled && each.checkVisibility()).length"""
# The smallest displayed font size, including the scale of SVG figures.
_SMALLEST = """() => {
    let [least, what] = [Infinity, ''];
    for (const text of document.querySelectorAll('body *')) {
        const own = [...text.childNodes].some(node => node.nodeType === 3 && node.data.trim());
        if (!own || !text.checkVisibility({ visibilityProperty: true })) continue;
        const matrix = text.ownerSVGElement && text.getScreenCTM ? text.getScreenCTM() : null;
        const scale = matrix ? Math.hypot(matrix.c, matrix.d) : 1;
        const size = parseFloat(getComputedStyle(text).fontSize) * scale;
        if (size > 0 && size < least) [least, what] = [size, text.textContent.trim().slice(0, 30)];
    }
    return [Math.round(10 * least) / 10, what];
}"""
# Visible words; for a select element only the selected option counts.
_WORDS = r"""selector => {
    const part = document.querySelector(selector);
    const words = text => (text.match(/\S+/g) || []).length;
    const others = [...part.querySelectorAll('option:not(:checked)')]
        .filter(each => each.closest('select').checkVisibility());
    return words(part.innerText) - others.reduce((total, each) => total + words(each.textContent), 0);
}"""
_UNFOLD = "() => document.querySelectorAll('details').forEach(fold => { fold.open = true; })"


def figures_of(browser: Browser, page_file: Path) -> dict[str, Any]:
    """Return the measurements of a page by name."""
    measured: dict[str, Any] = {"bytes": page_file.stat().st_size}
    for name, (width, height) in {"screen": SCREEN, "phone": PHONE}.items():
        page = browser.new_page(viewport={"width": width, "height": height})
        page.goto(page_file.resolve().as_uri())
        page.wait_for_timeout(300)
        tall = page.evaluate("document.documentElement.scrollHeight")
        measured[f"screens, {width} px"] = round(tall / height, 1)
        measured[f"smallest type, {width} px"] = page.evaluate(_SMALLEST)
        if name == "screen":
            measured["words"] = page.evaluate(_WORDS, "main")
            measured["words of the first screen's part"] = page.evaluate(_WORDS, ".first")
            measured["tab stops"] = page.evaluate(_TAB_STOPS)
            printed = page.pdf(format="A4")
            measured["printed pages"] = len(re.findall(rb"/Type\s*/Page\b", printed))
        page.evaluate(_UNFOLD)
        measured[f"screens unfolded, {width} px"] = round(
            page.evaluate("document.documentElement.scrollHeight") / height, 1
        )
        measured[f"smallest type unfolded, {width} px"] = page.evaluate(_SMALLEST)
        if name == "screen":
            measured["words unfolded"] = page.evaluate(_WORDS, "main")
            measured["figures"] = page.locator("figure, svg[role=img]").count()
            measured["tables"] = page.locator("table").count()
        page.close()
    return measured


def main() -> None:
    """Print the measurements of each page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="+", type=Path, help="report.html")
    pages = parser.parse_args().pages
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("chromium-browser"),
            args=["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        for page_file in pages:
            print(page_file)
            for name, value in figures_of(browser, page_file).items():
                print(f"  {name}: {value}")
        browser.close()


if __name__ == "__main__":
    main()
