"""The headings of figure 5's groups: who attends to whom, and the accuracy of the head that a group is of."""

import pytest

from headscope.analyses.arc_examples.facts import PAGE as ARCS
from headscope.analyses.arc_examples.facts import groups_of
from headscope.analyses.coref.results import antecedents_of
from headscope.present.words import terms
from support import mock_inputs
from support.measured import about, only
from support.page_tables import Tables


@pytest.fixture(scope="module")
def run():
    return mock_inputs.section_4(6, 12)


def text_of(run):
    return Tables(only(ARCS.sections(about(run)))).text


def test_headings_say_which_word_attends(run):
    text, wrong, directions = text_of(run), [], set()
    for group in groups_of(run):
        names, direction = terms(group.relation), str(group.first["direction"])
        if names and direction in ("dependent->head", "head->dependent"):
            dependent, head_word = names
            who, whom = (dependent, head_word) if direction == "dependent->head" else (head_word, dependent)
            directions.add(direction)
            wrong += [group.relation] * (f"The {who} attends to its {whom}." not in text)
    assert wrong == []
    assert directions == {"dependent->head", "head->dependent"}


def test_the_selected_head_of_coreference_has_its_accuracy(run):
    first = next(group.first for group in groups_of(run) if group.relation == "coreference")
    selected = antecedents_of(run).held_out
    assert (first["layer"], first["head"]) == (selected.layer, selected.head)
    assert selected.layer != selected.head
    assert f"{100 * selected.cells['all'].value:.1f}% right antecedents" in text_of(run)
