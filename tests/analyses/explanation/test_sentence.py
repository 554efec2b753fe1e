"""The sentence of a head, from the groups of its explanation."""

import pytest

from headscope.analyses.explanation.catalog import CATALOG, FEATURES, GROUPS
from headscope.analyses.explanation.feature import TOKENS, WHAT_ATTENDS, Feature
from headscope.analyses.explanation.sentence import Part, explanation_sentence, is_avoided, phrase_of
from headscope.errors import OptionError
from headscope.statistics.statistic import Special


def test_groups_are_named_from_the_largest_share_to_the_smallest():
    parts = [Part(group="word_pieces", share=0.12), Part(group="cls", share=0.61), Part(group="previous", share=0.22)]
    assert explanation_sentence(0.95, parts) == (
        "95% explained: attends to [CLS] (61), the previous token (22) and pieces of the same word (12)"
    )


def test_special_tokens_are_called_as_the_model_calls_them():
    parts = [Part(group="cls", share=0.5), Part(group="sep", share=0.2)]
    special = Special(cls="<s>", sep="</s>")
    assert explanation_sentence(0.7, parts, special=special) == "70% explained: attends to <s> (50) and </s> (20)"


def test_favored_tokens_are_written_as_they_are():
    parts = [Part(group=TOKENS, share=0.3, tokens=("not", "{cls}", "never"))]
    assert explanation_sentence(0.3, parts) == "30% explained: favors “not”, “{cls}”, “never” (30)"


def test_tokens_that_are_written_alike_are_said_once():
    parts = [Part(group=TOKENS, share=0.3, tokens=("not", "no", "not", "never"))]
    assert explanation_sentence(0.3, parts) == "30% explained: favors “not”, “no”, “never” (30)"


def test_all_groups_of_what_attends_are_said_once():
    parts = [
        Part(group="sep", share=0.4),
        Part(group=WHAT_ATTENDS, share=0.2),
        Part(group="attending_place", share=0.1),
    ]
    assert explanation_sentence(0.7, parts) == ("70% explained: attends to [SEP] (40) and depends on what attends (30)")


def test_groups_that_would_do_as_well_are_named():
    parts = [Part(group="previous", share=0.9, exchangeable=("distance", "word_before"))]
    assert explanation_sentence(0.9, parts) == (
        "90% explained: attends to the previous token, nearby tokens or the word before (90)"
    )


def test_groups_of_the_halves_together_may_come_before_a_larger_one():
    parts = [
        Part(group="cls", share=0.4),
        Part(group="previous", share=0.3, exchangeable=("word_before",)),
        Part(group="word_before", share=0.2, exchangeable=("previous",)),
    ]
    assert explanation_sentence(0.9, parts) == (
        "90% explained: attends to the previous token or the word before (50) and [CLS] (40)"
    )


def test_groups_that_the_halves_took_in_place_of_one_another_are_said_once():
    parts = [
        Part(group="previous", share=0.45, exchangeable=("word_before",)),
        Part(group="word_before", share=0.44, exchangeable=("previous",)),
        Part(group="sep", share=0.06, exchangeable=("previous",)),
    ]
    assert explanation_sentence(0.95, parts) == (
        "95% explained: attends to the previous token or the word before (89) and [SEP] or the previous token (6)"
    )


def test_what_nothing_explains_is_said_to_be_so():
    assert explanation_sentence(-0.02, []) == "-2.0% explained: no group of features adds a point"


def form(**pulls):
    """A part of the forms of tokens; pulls with their coefficients."""
    return Part(
        group="form",
        share=0.1,
        coefficients={name: coefficient for name, (coefficient, _) in pulls.items()},
        pulls={name: pull for name, (_, pull) in pulls.items()},
    )


@pytest.mark.parametrize(
    ("part", "phrase", "avoided"),
    [
        (form(capital=(2.0, 0.8), digit=(0.1, 0.1)), "capitalized tokens", False),
        (form(capital=(2.0, 0.5), digit=(1.0, 0.4)), "capitalized tokens and digits", False),
        (form(capital=(2.0, 0.5), digit=(-1.0, 0.4)), "capitalized tokens", False),
        (form(length=(-2.0, 0.5), digit=(1.0, 0.1)), "short tokens", False),
        (form(digit=(-2.0, 0.5)), "digits", True),
        (form(digit=(-2.0, 0.5), capital=(-2.0, 0.4)), "digits and capitalized tokens", True),
        (form(digit=(-2.0, 0.5), length=(-2.0, 0.4)), "digits", True),
        (form(), "tokens by their form", False),
        (form(digit=(1.0, -0.5)), "tokens by their form", False),
        (Part(group="current", share=0.1, coefficients={"current": -1.0}, pulls={"current": 0.3}),
         "the token itself", True),
        (Part(group="sep", share=0.1, coefficients={"sep": 1.0}, pulls={"sep": 0.3}), "{sep}", False),
    ],
)  # fmt: skip
def test_a_group_is_called_by_its_strongest_features(part, phrase, avoided):
    assert phrase_of(part) == phrase
    assert is_avoided(part) is avoided


def test_what_is_kept_away_from_is_avoided():
    parts = [
        Part(group="cls", share=0.4),
        form(digit=(-2.0, 0.5)),
        Part(
            group="current",
            share=0.2,
            coefficients={"current": -1.0},
            pulls={"current": 0.3},
            exchangeable=("distance",),
        ),
        Part(group="attending_place", share=0.05),
    ]
    assert explanation_sentence(0.75, parts) == (
        "75% explained: attends to [CLS] (40), avoids the token itself (20) and digits (10) and depends on what "
        "attends (5)"
    )


def test_tokens_are_avoided_where_they_keep_more_attention_away_than_they_draw():
    parts = [Part(group=TOKENS, share=0.3, tokens=("the", "a"), avoids_tokens=True)]
    assert explanation_sentence(0.3, parts) == "30% explained: avoids “the”, “a” (30)"


def vowels(rows):
    return rows.of_keys([])


def test_a_feature_of_a_user_has_a_group_of_its_own():
    feature = Feature("vowels", "vowels", "words with vowels", vowels)
    catalog = CATALOG.plus([feature])
    assert catalog.features["vowels"] is feature
    assert "vowels" not in FEATURES
    assert "vowels" not in GROUPS
    parts = [Part(group="vowels", share=0.4)]
    assert explanation_sentence(0.4, parts, catalog=catalog) == "40% explained: attends to words with vowels (40)"


def test_a_feature_cannot_take_the_name_of_another():
    with pytest.raises(OptionError) as refused:
        CATALOG.plus([Feature("next", "next", "next", vowels)])
    assert str(refused.value) == (
        "there is a feature 'next' already; expected a name that is not in the catalog: give the feature another name"
    )
