"""Sentences on logits: who copies, who suppresses, and what later layers make up for or need."""

import pytest

from support import mock_inputs
from support.effect_pages import sections, sentences
from support.measured import only, with_parts
from support.mock_effects import with_effects
from support.page_tables import Tables


def decoder(**more):
    return with_effects(mock_inputs.decoder(2, 4), direct=True, **more)


def texts(inputs):
    return [each.text for each in sentences(inputs, "logits")]


def changed(inputs, measure, head, *, by):
    """The run with a measure of a head of the first layer moved, its interval with it."""
    table = inputs.tables.get("effects").copy()
    rows = (table["measure"] == measure) & (table["layer"] == 1) & (table["head"] == head)
    table.loc[rows, ["value", "ci_low", "ci_high"]] += by
    return with_parts(inputs, effects=table)


def test_who_copies_and_who_suppresses():
    found = sentences(changed(decoder(), "copying", 3, by=0.2), "logits")
    assert [each.text for each in found] == [
        "Head 1-3 copies: it adds 0.300 (95% interval 0.298 to 0.302) to the logit of the token that it attends to "
        "most.",
        "4 heads of 8 copy in this way (false discovery rate 5%).",
        "4 heads of 8 suppress the token attended to most: 1-2, 1-4, 2-2 and 1 more.",
    ]
    assert [each.goes_on for each in found] == [False, True, False]
    assert all(len(each.text.split()) <= 25 for each in found)


def test_what_later_layers_make_up_for_and_what_they_need():
    inputs = changed(decoder(intervention="zero"), "compensation", 2, by=-3.0)
    found = [each for each in texts(inputs) if "ater layers" in each or each.startswith("They")]
    assert found == [
        "Later layers compensate most for head 1-1: it adds 0.600 to the right token’s logit, and 0.400 of it is lost "
        "without it.",
        "They compensate for 4 heads of 8 (false discovery rate 5%).",
        "Later layers need head 1-2 most: without it the right token’s logit falls by 0.200, of which it adds 0.300 "
        "itself.",
    ]
    assert all(len(each.split()) <= 25 for each in found)


def test_a_head_for_which_more_is_made_up_than_it_adds_loses_nothing():
    inputs = changed(decoder(intervention="zero"), "logit", 1, by=-0.5)
    assert texts(inputs)[3] == (
        "Later layers compensate most for head 1-1: it adds 0.600 to the right token’s logit, and none of it is lost "
        "without it."
    )


def test_one_is_spoken_of_as_one():
    inputs = decoder()
    table = inputs.tables.get("effects")
    fewer = with_parts(inputs, effects=table[(table["layer"] == 1) & (table["head"] < 3)])
    assert texts(fewer)[1:] == [
        "1 head of 2 copies in this way (false discovery rate 5%).",
        "1 head of 2 suppresses the token attended to most: 1-2.",
    ]


@pytest.mark.parametrize("more", [{"intervals": False}, {"width": 5.0}])
def test_nothing_is_claimed_that_no_interval_supports(more):
    assert texts(decoder(intervention="zero", **more)) == []


def test_without_effects_on_logits_the_page_says_why():
    plain = with_effects(mock_inputs.encoder(2, 4))
    assert texts(plain) == []
    assert texts(mock_inputs.encoder(2, 4)) == []
    page = Tables(only(sections(plain, "effects")))
    assert "Effects on single logits are not known here: direct effects are of decoders alone." in page.text


def test_the_section_has_the_sentences():
    inputs = decoder()
    page = Tables(only(sections(inputs, "effects")))
    assert "4 heads of 8 copy in this way" in page.text
    assert "are not known here" not in page.text
