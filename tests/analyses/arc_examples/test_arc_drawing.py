"""A drawing of arcs, read back by hand: the ends of its lines, its colored words and its crosses."""

import re

import numpy as np

from headscope.analyses.arc_examples.facts import LEFT, RIGHT, STEP, drawing
from headscope.present.figures.arc_strokes import ArcStrokes


def arcs(*, by_key=False):
    """Three words; word 0 should attend to word 2, and a wrong choice is word 1 on the side that is chosen from."""
    weights = np.zeros((3, 3))
    weights[0, 2], weights[1, 0] = 0.75, 0.25
    return ArcStrokes(
        tokens=("they", "saw", "it"), weights=weights, arcs=((0, 2),), chosen=(1,), by_key=by_key,
        special=frozenset(), first=0, total=3,
    )  # fmt: skip


def height(word):
    return STEP * (word + 0.5)


def drawn_words(svg):
    """Return the words of each side, from the top, as (text with crosses, True if colored)."""
    words = re.findall(r"<text([^>]*)>(.*?)</text>", svg)
    plain = [(re.sub(r"<[^>]*>", "", text), 'class="on"' in attributes) for attributes, text in words]
    return plain[:3], plain[3:]


def test_lines_run_from_the_attending_word_on_the_left_to_the_attended_word_on_the_right():
    svg = str(drawing(arcs(), role="syntax", label_="They saw it."))
    for query, key, strong in ((0, 2, "strong"), (1, 0, "faint")):
        path = f"M{LEFT} {height(query):g}L{RIGHT} {height(key):g}"
        assert re.search(rf'<path d="{re.escape(path)}" class="{strong}"', svg)
    opacities = dict(re.findall(r'class="(strong|faint)" stroke-opacity="([^"]*)"', svg))
    assert opacities == {"strong": "0.75", "faint": "0.1"}


def test_colored_words_are_the_ends_of_the_arc_and_the_wrong_choice_has_a_cross():
    left, right = drawn_words(str(drawing(arcs(), role="syntax", label_="They saw it.")))
    assert left == [("they", True), ("saw", False), ("it", False)]
    assert right == [("they", False), ("saw ✗", False), ("it", True)]
    left, right = drawn_words(str(drawing(arcs(by_key=True), role="syntax", label_="They saw it.")))
    assert left == [("they", True), ("✗ saw", False), ("it", False)]
    assert right == [("they", False), ("saw", False), ("it", True)]


def test_a_missed_arc_is_drawn_between_its_ends():
    svg = str(drawing(arcs(), role="syntax", label_="They saw it."))
    assert f'<path d="M{LEFT} {height(0):g}L{RIGHT} {height(2):g}" class="missed">' in svg
