"""The pages of both embedded models, of fewer inputs than the demonstration, in a browser: sizes, what comes first."""

import subprocess
import sys

import pytest

from support.attention_pages import settled
from support.axe import violations
from support.benchmarks import benchmark
from support.made_once import made_once

pytestmark = [pytest.mark.browser, pytest.mark.slow]
MODELS = ("headscope-minilm", "headscope-decoder")
MOST_SCREENS, MOST_WORDS, LEAST_PIXELS, MOST_CLICKS, MOST_PRINTED = 4, 700, 11, 2, 12
RAIL = "nav a[href='#section-{}']"
# A question to one of the models, what is clicked from the first screen on, where the answer stands, words of it.
QUESTIONS = [
    ("Which head finds objects?", 0, ["#grid button:has([data-brief^=obj])"], "#card", "finds obj"),
    (
        "Which head finds an object’s verb in the decoder?",
        1,
        ["#grid button:has([data-brief^=obj])"],
        "#card",
        "finds obj",
    ),
    ("Is [SEP] a sink?", 0, [RAIL.format("noop")], "#section-noop .finding", "[SEP] tokens give [SEP]"),
    ("Is [CLS] a sink?", 0, [RAIL.format("special")], "#section-special .finding", "of attention goes to [CLS]"),
    ("Which heads copy?", 1, [], ".findings", "shows induction"),
    (
        "Does a head of the encoder copy?",
        0,
        [RAIL.format("experiments")],
        "#section-experiments",
        "No head shows induction",
    ),
    ("Which head fetches from far back?", 1, [], ".findings", "shows retrieval"),
    ("May I trust a cluster?", 0, [RAIL.format("distances")], "#section-distances", "do not trust the others"),
    ("May I trust cluster 2?", 0, [RAIL.format("distances")], "#section-distances", "Unstable: clusters 2 and 3"),
    ("Which head for “it”?", 0, [RAIL.format("coref")], "#section-coref", "worst on pronouns"),
    ("Which head finds antecedents?", 0, ["#grid button:has([data-brief=coref])"], "#card", "finds coreference"),
    ("Which head attends to the previous token?", 0, [], ".findings", "on the previous token"),
    ("What does head 4-2 do?", 0, ["#encoder-4-2"], "#card .role", "finds det"),
    ("Can a head be spared, for it writes little?", 0, [RAIL.format("norms")], "#section-norms", "is inactive"),
    ("Which heads are alike?", 0, [RAIL.format("distances")], "#section-distances", "nearest to each other are"),
    ("Which head attends to this word?", 0, ["#pinned [data-key='3']"], "#pinned .hint", "attends to it most"),
    ("How sure is that?", 0, [], ".findings", "95% interval"),
    ("What was run?", 1, [], ".run", "32 heads in 4 layers"),
    ("What does “finds” mean?", 0, [RAIL.format("how"), "#section-how summary"], "#section-how dl", "Best offset"),
    ("What are all the numbers of a head?", 0, [RAIL.format("heads")], "#heads", "4-2"),
]
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

    def make(folder):
        for name in MODELS:
            # In a process of its own: here every call is checked, and that takes long.
            options = ["--model", name, "--max-inputs", "120", "--controls", "0", "--out", str(folder / name)]
            subprocess.run([sys.executable, "-m", "headscope", "report", *options], check=True, capture_output=True)

    folder = made_once(tmp_path_factory, "demo", make)
    return {name: folder / name / "report.html" for name in MODELS}


@pytest.mark.long
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
    assert figures["printed pages"] <= MOST_PRINTED
    assert figures["smallest type unfolded, 1280 px"][0] >= LEAST_PIXELS
    assert figures["smallest type unfolded, 390 px"][0] >= LEAST_PIXELS
    # It is behind folds that there is more.
    assert figures["words unfolded"] > 10 * figures["words"]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 390)])
@pytest.mark.parametrize("page_file", ["report.html", "atlas/index.html"])
def test_no_rule_of_accessibility_is_broken_where_all_is_unfolded(visit_file, pages, model, scheme, width, page_file):
    page = visit_file(pages[model].parent / page_file, scheme=scheme, width=width)
    while page.locator("details:not([open])").count():
        page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
        settled(page)
    assert violations(page) == []


def test_the_decoder_s_page_opens_with_its_induction_and_retrieval(visit_file, pages):
    page = visit_file(pages["headscope-decoder"], folded=True)
    explained, first, second, *_ = page.locator(".findings li").all_inner_texts()
    assert explained.startswith("Simple rules predict ")
    assert first.startswith("Head 2-8 shows induction over repeated random tokens: 99.")
    assert second.startswith("Head 2-8 shows retrieval in repeated needles: ")
    # The card that is open is that of the first head that is named.
    assert page.locator("#card h2").inner_text().startswith("Head 2-8")


@pytest.mark.parametrize(
    ("question", "model", "clicks", "answer", "words"), QUESTIONS, ids=[each[0] for each in QUESTIONS]
)
def test_a_question_is_answered_from_the_first_screen_in_two_clicks(
    visit_file, pages, question, model, clicks, answer, words
):
    assert len(clicks) <= MOST_CLICKS
    page = visit_file(pages[MODELS[model]], height=800, folded=True)
    for number, selector in enumerate(clicks):
        target = page.locator(selector).first
        if number == 0:
            assert target.bounding_box()["y"] < 800, "it is not on the first screen"
        target.click()
    told = [each for each in page.locator(answer).all() if words.lower() in each.inner_text().lower()]
    assert told, f"{question} {page.locator(answer).first.inner_text()[:500]}"
    top, height = told[0].evaluate("part => [part.getBoundingClientRect().top, innerHeight]")
    assert -60 <= top < height
