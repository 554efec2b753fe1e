"""The circuit map in a browser: arcs from cell to cell, the slider, pointing, the keyboard, cards, paper."""

import pytest

from headscope.present.study import Study
from headscope.reporting.atlas_page import atlas_page
from headscope.reporting.report_page import render_report
from support import mock_inputs
from support.axe import violations
from support.measured import blank_figures
from support.mock_study import write_study
from support.mock_why import with_why

pytestmark = pytest.mark.browser
RUNS = {
    "decoder": lambda: mock_inputs.decoder(4, 8),
    "deep": lambda: mock_inputs.decoder(12, 12),
    "dense": lambda: mock_inputs.decoder(3, 24),
    "encoder": lambda: mock_inputs.encoder(3, 4),
    "t5": mock_inputs.t5,
}
ARCS = ".circuit-arcs .circuit-arc"
DRAWN = """arcs => arcs.filter(arc => arc.getAttribute('visibility') === 'visible')
    .map(arc => [...arc.dataset.arc.split(' ').map(Number), arc.classList.contains('key') ? 'key' : 'query'])"""
# Where each drawn arc begins and ends, from the middle of its cells, in sizes of a cell.
ENDS = """grid => [...grid.querySelectorAll('.circuit-arc[visibility=visible]')].map(arc => {
    const line = arc.querySelector('.line'), matrix = line.getScreenCTM();
    return arc.dataset.arc.split(' ').map((index, end) => {
        const box = grid.querySelector(`button[data-index='${index}']`).getBoundingClientRect();
        const point = line.getPointAtLength(end ? line.getTotalLength() : 0).matrixTransform(matrix);
        return [point.x - box.x - box.width / 2, point.y - box.y - box.height / 2].map(each => each / box.width);
    });
})"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("circuit")
    made = {}
    with blank_figures():
        for name, run in RUNS.items():
            made[name] = folder / f"{name}.html"
            made[name].write_text(render_report(with_why(run())), encoding="utf-8")
    return made


def drawn(page, within=""):
    return page.eval_on_selector_all(f"{within} {ARCS}", DRAWN)


def shift(page, key, times):
    for _ in range(times):
        page.keyboard.press(key)


@pytest.mark.parametrize(("width", "media"), [(1280, "screen"), (700, "screen"), (390, "screen"), (688, "print")])
@pytest.mark.parametrize("name", ["decoder", "deep", "dense", "encoder"])
def test_arcs_leave_the_lower_edge_of_their_source_and_enter_the_upper_edge_of_the_drawn_head(
    visit_file, files, name, width, media
):
    page = visit_file(files[name], width=width)
    page.emulate_media(media=media)
    ends = page.locator(".grid.arced").evaluate(ENDS)
    assert len(ends) >= 10
    for (x, y), (to_x, to_y) in ends:
        assert abs(x) < 0.4
        assert 0.4 < y < 0.56
        assert 0.15 < abs(to_x) < 0.35
        assert -0.68 < to_y < -0.48


def test_at_first_at_most_thirty_arcs_are_drawn_and_the_slider_sets_the_smallest_share(visit_file, files):
    page = visit_file(files["decoder"], folded=True)
    slider, output = page.get_by_label("Smallest share"), page.locator("#circuit output")
    assert page.locator(ARCS).count() == 48
    assert len(drawn(page)) == 30
    assert output.inner_text() == "30 of 48 arcs: 42% of the pull or more"
    slider.focus()
    page.keyboard.press("ArrowRight")
    shift(page, "ArrowRight", 17)
    assert output.inner_text() == "6 of 48 arcs: 60% of the pull or more"
    assert sorted(drawn(page)) == sorted(
        [source, head, side] for layer in (0, 8, 16) for source, head, side in
        ([layer, layer + 8, "key"], [layer + 1, layer + 8, "query"])
    )  # fmt: skip
    page.keyboard.press("End")
    assert drawn(page) == []
    page.keyboard.press("Home")
    assert len(drawn(page)) == 48
    assert slider.get_attribute("aria-valuetext") == "48 of 48 arcs: 0% of the pull or more"


def test_an_arc_is_the_wider_the_larger_its_share_and_sides_differ_without_color(visit_file, files):
    page = visit_file(files["decoder"], folded=True)
    lines = page.eval_on_selector_all(
        f"{ARCS} .line:not(.dot)",
        """all => all.map(line => {
            const { strokeWidth, strokeDasharray, stroke } = getComputedStyle(line);
            return [line.parentNode.classList[1], parseFloat(strokeWidth), strokeDasharray, stroke];
        })""",
    )
    assert lines[-1][1] == pytest.approx(0.6 * 8, abs=0.06)
    widths = [width for _, width, *_ in lines]
    assert widths == sorted(widths)
    assert min(widths) >= 1.5
    looks = {(side, dashes, color) for side, _, dashes, color in lines}
    assert len(looks) == 2
    assert {dashes for side, dashes, _ in looks if side == "key"} == {"none"}
    assert "none" not in {dashes for side, dashes, _ in looks if side == "query"}
    dots = page.eval_on_selector_all(
        f"{ARCS} .dot:not(.rim)", "all => all.map(dot => parseFloat(getComputedStyle(dot).strokeWidth))"
    )
    assert min(dots) >= 5


def test_pointing_at_a_head_leaves_its_arcs_alone_and_names_them(visit_file, files):
    page = visit_file(files["decoder"], folded=True)
    before, tip = drawn(page), page.get_by_role("tooltip", include_hidden=True).and_(page.locator(".circuit-tip"))
    assert not tip.is_visible()
    page.locator("#decoder-3-1").hover()
    assert sorted(drawn(page)) == sorted(arc for arc in before if 16 in arc[:2])
    lines = tip.locator("div").all_inner_texts()
    assert lines[0] == "2-1 → 3-1, key side, 60% (54 to 66)"
    assert set(lines[:4]) == {
        "2-1 → 3-1, key side, 60% (54 to 66)",
        "2-2 → 3-1, query side, 60% (54 to 66)",
        "3-1 → 4-1, key side, 60% (54 to 66)",
        "3-1 → 4-2, key side, 56% (51 to 62)",
    }
    assert lines[-1] == "3 below 42%, not drawn"
    # Nothing that is named is hidden by its name: arcs of the drawn head come from above.
    box, cell = tip.bounding_box(), page.locator("#decoder-3-1").bounding_box()
    assert box["y"] >= cell["y"] + cell["height"]
    page.locator("#decoder-1-1").hover()
    assert tip.bounding_box()["y"] + tip.bounding_box()["height"] <= page.locator("#decoder-1-1").bounding_box()["y"]
    page.locator("#decoder-4-8").hover()
    assert drawn(page) == []
    assert tip.inner_text() == "2 below 42%, not drawn"
    page.locator("#decoder-1-5").hover()
    assert not tip.is_visible()
    page.locator("h1").hover()
    assert drawn(page) == before
    assert not tip.is_visible()


def test_the_keyboard_moves_from_head_to_head_and_hears_the_arcs(visit_file, files):
    page = visit_file(files["decoder"], folded=True)
    before, tip = drawn(page), page.locator(".circuit-tip")
    page.locator("#decoder-2-1").focus()
    page.keyboard.press("ArrowRight")
    at = page.locator(":focus")
    assert at.get_attribute("id") == "decoder-2-2"
    assert drawn(page)
    assert all(9 in arc[:2] for arc in drawn(page))
    assert tip.is_visible()
    assert at.get_attribute("aria-describedby") == tip.get_attribute("id")
    page.keyboard.press("Escape")
    assert not tip.is_visible()
    page.keyboard.press("ArrowDown")
    assert tip.is_visible()
    assert page.locator("[aria-describedby^=circuit]").count() == 1
    # A pointer that leaves gives way to the head that has the focus.
    page.locator("#decoder-1-1").hover()
    page.locator("h1").hover()
    assert all(17 in arc[:2] for arc in drawn(page))
    page.keyboard.press("Enter")
    assert page.locator("#card h2").inner_text().startswith("Head 3-2")
    page.locator("#circuit input").focus()
    assert drawn(page) == before
    assert page.locator("[aria-describedby^=circuit]").count() == 0


def test_a_click_opens_the_card_which_leads_to_the_heads_it_names(visit_file, files):
    page = visit_file(files["decoder"], folded=True)
    page.locator("#decoder-2-1").click()
    card = page.locator("#card")
    lines = card.locator(".explained").all_inner_texts()
    assert lines == [
        "Drawn on the key side by 1-1 (60%) and the token embedding (20%); on the query side by 1-2 (60%) and "
        "the token embedding (20%).",
        "Draws 3-1 (key side, 60%), 3-2 (key side, 56%), 3-3 (key side, 52%), 3-4 (key side, 49%) and 4 more heads.",
    ]
    card.locator("a[href='#decoder-3-2']").click()
    assert card.locator("h2").inner_text().startswith("Head 3-2")


def test_other_colors_keep_the_arcs(visit_file, files):
    page = visit_file(files["decoder"], folded=True)
    before = drawn(page)
    page.locator("#color-by select").select_option(index=1)
    assert drawn(page) == before
    assert page.locator(".grid.arced .amount").count() == 32


def test_the_section_of_an_encoder_has_its_own_grid_whose_heads_open_their_cards(visit_file, files):
    page = visit_file(files["encoder"])
    assert page.locator("#story .circuit-arcs").count() == 0
    section = page.locator("#section-why .circuit")
    assert len(drawn(page, "#section-why")) == 16
    section.locator("button[data-index='5']").click()
    assert page.locator("#card h2").inner_text().startswith("Head 2-2")
    assert page.locator("#encoder-2-2").count() == 1


def test_every_kind_of_attention_has_its_map(visit_file, files):
    page = visit_file(files["t5"])
    for kind in ("encoder", "decoder", "cross"):
        assert len(drawn(page, f".circuit[data-kind={kind}]")) == 16
    tips = page.eval_on_selector_all(".circuit-tip", "all => all.map(tip => tip.id)")
    assert len(set(tips)) == 3


def test_a_card_of_the_atlas_names_them_and_leads_to_them(visit_file, tmp_path):
    study: Study = write_study(with_why(mock_inputs.decoder(3, 4)), tmp_path)
    path = tmp_path / "atlas.html"
    path.write_text(atlas_page(study), encoding="utf-8")
    page = visit_file(path, anchor="#decoder-2-1")
    card = page.locator(".at-card")
    assert card.locator(".explained").first.inner_text().startswith("Drawn on the key side by 1-1 (60%)")
    card.locator(".explained a[href='#decoder-3-2']").click()
    assert page.locator(".at-card h2").inner_text().startswith("Head 3-2")


def test_hostile_names_are_text(visit_file, tmp_path):
    path = tmp_path / "report.html"
    with blank_figures():
        path.write_text(render_report(with_why(mock_inputs.hostile())), encoding="utf-8")
    assert drawn(visit_file(path))


@pytest.mark.parametrize("name", ["decoder", "encoder"])
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 390)])
def test_no_rule_of_accessibility_is_broken_and_no_text_is_small(visit_file, files, name, scheme, width):
    page = visit_file(files[name], scheme=scheme, width=width)
    page.locator(".grid.arced button").nth(4 if name == "encoder" else 8).focus()
    assert page.locator(".circuit-tip").is_visible()
    assert violations(page) == []
    sizes = page.eval_on_selector_all(
        ".circuit-bar *, .circuit-tip, .circuit-tip *",
        "all => all.filter(one => one.textContent).map(one => parseFloat(getComputedStyle(one).fontSize))",
    )
    assert min(sizes) >= 11
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_paper_has_the_arcs_on_white_without_the_slider(visit_file, files):
    page = visit_file(files["decoder"], width=700, folded=True, scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert not page.get_by_label("Smallest share").is_visible()
    assert page.locator("#circuit output").is_visible()
    line = page.locator(f"{ARCS}.key .line").first
    assert line.evaluate("line => getComputedStyle(line).stroke") == "rgb(28, 30, 33)"
