"""What explains heads, on the page: the color of each, and heads found by words of their sentences."""

import pytest

from headscope.present.kinds import kinds_of
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


def test_heads_are_colored_by_what_they_look_at(page, run):
    (kind,) = kinds_of(run)
    cells = page.locator("#grid button[data-index]")
    assert cells.count() == page.locator("#grid button.role-previous").count() == kind.size
    bars = page.locator("#grid .sink").evaluate_all(
        "all => all.map(bar => bar.getBoundingClientRect().width / bar.parentElement.getBoundingClientRect().width)"
    )
    assert bars == pytest.approx([0.6] * kind.size, abs=0.01)
    key = page.locator("#legend .key")
    assert [" ".join(text.split()) for text in key.all_inner_texts()] == [f"Previous token {kind.size}"]
    page.select_option("#color-by select", value="role")
    assert page.locator("#grid .sink").count() == 0
    assert page.locator("#grid button.role-mixed").count() == kind.roles.count("mixed") > 0
    page.select_option("#color-by select", index=2)
    assert page.locator("#grid button.amount").count() == kind.size


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
