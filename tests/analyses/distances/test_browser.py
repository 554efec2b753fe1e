"""Figure 6 in a browser: a mark is named under the pointer and opens its card, its number does not stand in the way."""

import pytest

from headscope.reporting.report_page import render_report
from support import mock_inputs
from support.mock_distances import with_distances

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    page = tmp_path_factory.mktemp("distances") / "report.html"
    page.write_text(render_report(with_distances(mock_inputs.encoder(3, 4))), encoding="utf-8")
    return page


@pytest.mark.parametrize("coloring", ["role", "layer"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_mark_opens_its_card(visit_file, path, coloring, scheme):
    page = visit_file(path, scheme=scheme)
    drawn = page.locator(f"#section-distances svg.figure[aria-label*='by {coloring};']")
    mark = drawn.locator("[data-head='2-3']")
    mark.scroll_into_view_if_needed()
    box = mark.bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*middle)
    assert page.locator(".tip").text_content().startswith("Head 2-3 · ")
    page.mouse.click(*middle)
    assert page.url.endswith("&encoder-2-3")
    assert page.locator("#card h2").text_content().startswith("Head 2-3")


def test_maps_stand_side_by_side_and_below_each_other_on_a_phone(visit_file, path):
    def places(width):
        page = visit_file(path, width=width)
        maps = page.locator("#section-distances .maps svg.figure")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        return [maps.nth(at).bounding_box() for at in range(2)]

    wide, narrow = places(1280), places(390)
    assert wide[0]["y"] == wide[1]["y"]
    assert narrow[0]["y"] + narrow[0]["height"] <= narrow[1]["y"]


def test_the_tree_opens(visit_file, path):
    page = visit_file(path)
    tree = page.locator("#section-distances svg.figure[aria-label^='Tree of']")
    assert not tree.is_visible()
    page.get_by_text("Figure: the tree of heads").click()
    assert tree.is_visible()
    assert tree.locator("[data-head]").count() == 12
