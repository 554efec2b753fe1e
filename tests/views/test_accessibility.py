"""Every view, as axe-core sees it, light and dark, and after a token was chosen."""

import pytest

from support.attention_pages import VIEWS, settled
from support.axe import violations

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(
    ("name", "state"),
    [*(("pair", f"view={view}&token=q3") for view in VIEWS), ("generated", "view=head&token=q8"), ("hostile", "")],
)
def test_no_rule_is_broken(visit, name, state):
    page = visit(name, state)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        settled(page)
        assert violations(page) == [], scheme


@pytest.mark.parametrize("view", VIEWS)
def test_three_kinds_on_a_narrow_screen(visit, view):
    page = visit("three", f"view={view}&kind=cross", width=360)
    assert violations(page) == []


def test_an_enlarged_head(visit):
    page = visit("pair", "view=model")
    page.locator("[data-head]").first.click()
    settled(page)
    assert violations(page) == []


def test_axe_finds_what_is_wrong(visit):
    """The check itself: a button without a name."""
    page = visit("pair")
    page.evaluate("document.querySelector('main').append(document.createElement('button'))")
    assert [one.split(":")[0] for one in violations(page)] == ["button-name"]
