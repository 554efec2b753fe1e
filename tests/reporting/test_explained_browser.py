"""What explains heads, on the page: heads without a role in the color of it, and found by words of their sentences."""

import pytest

from headscope.report_kit.kinds import kinds_of
from headscope.reporting.report_page import render_report
from support import mock_inputs
from support.attention_pages import settled
from support.axe import violations
from support.mock_explanation import with_explanation

pytestmark = pytest.mark.browser

SENTENCES = {(1, 2): "Attends to “never” (31%) and rare tokens (9.1%); 40% predicted"}


@pytest.fixture(scope="module")
def run():
    return with_explanation(mock_inputs.encoder(), sentences=SENTENCES)


@pytest.fixture(scope="module")
def file(run, tmp_path_factory):
    path = tmp_path_factory.mktemp("explained") / "report.html"
    path.write_text(render_report(run), encoding="utf-8")
    return path


@pytest.fixture
def page(visit_file, file):
    return visit_file(file)


def test_heads_without_a_role_are_tinted(page, run):
    (kind,) = kinds_of(run)
    expected = {index for index in range(kind.size) if kind.roles[index] == "mixed"}
    assert expected
    tinted = page.locator("#grid button.tinted").evaluate_all("all => all.map(cell => +cell.dataset.index)")
    assert set(tinted) == expected
    colors = page.locator("#grid button.role-mixed").evaluate_all(
        "all => all.map(cell => [cell.style.getPropertyValue('--tint'), getComputedStyle(cell).backgroundColor])"
    )
    plain = page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--fill-mixed')")
    assert {tint for tint, _ in colors} == {"var(--fill-cls)"}
    assert all(color and color != plain for _, color in colors)
    assert page.locator("#legend .tint-key").inner_text() == ("Tinted: what explains at least a third of a mixed head")
    page.select_option("#color-by select", index=1)
    assert page.locator("#grid button.tinted").count() == 0


def test_the_table_of_heads_is_searched_by_sentences(page):
    page.fill("#find-head", "never")
    assert page.locator("#table-heads tbody th").all_inner_texts() == ["1-2"]
    page.fill("#find-head", "rare")  # of nine points
    assert page.locator("#table-heads tbody th").count() == 0


def test_a_card_has_the_sentence_once(page, run):
    (kind,) = kinds_of(run)
    for index in (0, kind.roles.index("mixed")):
        page.locator(f"#grid button[data-index='{index}']").click()
        assert page.locator("#card").inner_text().count("% predicted") == 1


def test_no_rule_of_accessibility_is_broken(visit_file, file):
    for scheme in ("light", "dark"):
        page = visit_file(file, scheme=scheme)
        settled(page)
        assert violations(page) == []
