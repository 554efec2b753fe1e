"""Attention pages on disk, opened in a browser, and helpers that read them."""

import pytest

from headscope.views.attention_page import attention_page
from headscope.views.bundle import view_names
from support import made_maps
from support.views import three_kinds_view

VIEWS = view_names()
MADE = {
    "pair": made_maps.sentence_pair,
    "long": lambda: made_maps.long_text(tokens=300, heads=4),
    "generated": made_maps.generated,
    "hostile": made_maps.hostile,
    "three": three_kinds_view,
}


@pytest.fixture(scope="session")
def made():
    """Return the views behind the pages, by name."""
    return {name: make() for name, make in MADE.items()}


@pytest.fixture(scope="session")
def pages(made, tmp_path_factory):
    folder = tmp_path_factory.mktemp("attention")
    for name, view in made.items():
        page = attention_page(view, call='"a text", model="made/maps"')
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    return folder


@pytest.fixture
def visit(visit_file, pages):
    """Open one of the pages in a state, and wait until its view is drawn."""

    def go(name, state="", **options):
        page = visit_file(pages / f"{name}.html", anchor=f"#{state}" if state else "", **options)
        page.wait_for_selector("[role=tabpanel] > section:not([hidden])")
        settled(page)
        return page

    return go


def settled(page):
    """Wait two frames: intersection observers report after the first."""
    page.evaluate(
        "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 30))))"
    )


def ink(page, selector):
    """Count the pixels of a page's canvases that differ from their first pixel, the background."""
    return page.eval_on_selector_all(
        selector,
        """canvases => canvases.reduce((sum, canvas) => {
            if (!canvas.width || !canvas.height || getComputedStyle(canvas).visibility === 'hidden') return sum;
            const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            const pixels = new Uint32Array(data.buffer);
            for (const pixel of pixels) if (pixel !== pixels[0]) sum++;
            return sum;
        }, 0)""",
    )
