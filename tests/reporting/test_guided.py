"""Heads that training showed where to look are called guided, word for word, on the first screen and on their cards."""

import pytest

from headscope.reporting.atlas_page import write_atlas
from headscope.reporting.report_page import render_report
from support import mock_inputs
from support.measured import blank_figures, with_parts
from support.mock_study import write_study

SAID = (
    "Guided: for the first 20% of training it was shown where to look. That such heads form by data alone does not "
    "follow from it."
)


@pytest.fixture(scope="module", autouse=True)
def no_figures():
    with blank_figures():
        yield


def run_with(heads):
    run = mock_inputs.decoder()
    return with_parts(run, manifest={**run.manifest, "guided_heads": {"heads": heads, "share": 0.2}})


@pytest.mark.parametrize(
    ("heads", "said"),
    [
        (["1-1", "2-2"], "1-1 and 2-2 were guided for the first 20% of training"),
        (["2-2"], "2-2 was guided for the first 20% of training"),
    ],
)
def test_the_first_screen_names_them(heads, said):
    assert f" · {said} · " in render_report(run_with(heads))
    assert "guided for" not in render_report(mock_inputs.decoder())


@pytest.mark.browser
def test_their_cards_say_so_in_the_report_and_in_the_atlas(visit_file, tmp_path):
    # The last is no head of this model.
    run = run_with(["1-2", "9-9"])
    page_file = tmp_path / "report.html"
    page_file.write_text(render_report(run), encoding="utf-8")
    for where, card in (
        (page_file, "#card"),
        (write_atlas(write_study(run, tmp_path / "run"), tmp_path / "atlas"), ".at-card"),
    ):
        page = visit_file(where, anchor="#decoder-1-2")
        assert SAID in page.locator(card).inner_text()
        page = visit_file(where, anchor="#decoder-1-1")
        assert "Guided" not in page.locator(card).inner_text()
