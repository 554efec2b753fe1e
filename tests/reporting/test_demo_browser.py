"""The pages of both embedded models, of fewer inputs than the demonstration, in a browser: sizes, what comes first."""

import pytest

import headscope as hs
from support.benchmarks import benchmark

pytestmark = [pytest.mark.browser, pytest.mark.slow]
MODELS = ("headscope-minilm", "headscope-decoder")
MOST_SCREENS, MOST_WORDS, LEAST_PIXELS = 4, 700, 11
# The smallest text of every picture, as large as it is drawn, with what it says; folds are opened.
SMALLEST = """() => {
    document.querySelectorAll('details').forEach(fold => { fold.open = true; });
    const sizes = [...document.querySelectorAll('svg text')]
        .filter(text => text.textContent.trim() && text.checkVisibility({ visibilityProperty: true }))
        .map(text => {
            const matrix = text.getScreenCTM();
            return [parseFloat(getComputedStyle(text).fontSize) * Math.hypot(matrix.c, matrix.d), text.textContent];
        });
    return [sizes.length, sizes.reduce((least, each) => each[0] < least[0] ? each : least, [Infinity, ''])];
}"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory, browser):
    """Both reports, measured once: intervals need ten documents, and a relation a hundred cases."""
    folder = tmp_path_factory.mktemp("demo")
    return {
        name: hs.report(model=name, max_inputs=120, controls=0, out=folder / name).report_path
        for name in MODELS
    }


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("width", [1280, 390])
def test_no_text_of_a_picture_is_too_small_to_read(visit_file, pages, model, width):
    page = visit_file(pages[model], width=width)
    number, (least, words) = page.evaluate(SMALLEST)
    assert number > 100
    # A hundredth of a pixel is how exact a browser's boxes are.
    assert least >= LEAST_PIXELS - 0.01, words
    # Where a picture has no room it scrolls in its box: the page itself does not.
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("model", MODELS)
def test_what_a_reader_meets_first_is_short(browser, pages, model):
    figures = benchmark("page_figures").figures_of(browser, pages[model])
    assert figures["screens, 1280 px"] <= MOST_SCREENS
    assert figures["words"] <= MOST_WORDS
    assert figures["smallest type unfolded, 1280 px"][0] >= LEAST_PIXELS
    assert figures["smallest type unfolded, 390 px"][0] >= LEAST_PIXELS
    # It is behind folds that there is more.
    assert figures["words unfolded"] > 10 * figures["words"]


def test_the_decoder_s_page_opens_with_its_induction_and_retrieval(visit_file, pages):
    page = visit_file(pages["headscope-decoder"], folded=True)
    first, second, *_ = page.locator(".findings li").all_inner_texts()
    assert first.startswith("Head 2-8 shows induction over repeated random tokens: 99.")
    assert second.startswith("Head 2-8 shows retrieval in repeated needles: ")
    # The card that is open is that head's.
    assert page.locator("#card h2").inner_text().startswith("Head 2-8")
