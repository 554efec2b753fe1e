"""The sentence of a head, from the groups of its explanation."""

import pytest

from headscope.analyses.explanation import words
from headscope.analyses.explanation.catalog import CATALOG, FEATURES, GROUPS
from headscope.analyses.explanation.features import ATTENDING, TOKENS, Feature
from headscope.analyses.explanation.sentence import Part, explanation_sentence, is_avoided, phrase_of
from headscope.errors import OptionError
from headscope.statistics.statistic import Special


def test_groups_are_named_from_the_largest_share_to_the_smallest():
    parts = [Part(group="word_pieces", share=0.12), Part(group="cls", share=0.61), Part(group="previous", share=0.22)]
    assert explanation_sentence(0.955, parts) == (
        "Attends to [CLS] (61%), the previous token (22%) and pieces of the same word (12%); 96% predicted"
    )


def test_others_are_what_all_features_predict_beyond_the_groups_that_are_named():
    parts = [Part(group="cls", share=0.61), Part(group="previous", share=0.22), Part(group="sep", share=0.009)]
    for explained, rest in ((0.88, "; others 5.0%; 88%"), (0.839, "; 84%"), (0.80, "; 80%")):
        assert explanation_sentence(explained, parts) == (
            f"Attends to [CLS] (61%) and the previous token (22%){rest} predicted"
        )


def test_four_groups_are_named_at_most():
    names = ("cls", "sep", "previous", "next", "current", "first")
    parts = [Part(group=name, share=0.2 - 0.02 * number) for number, name in enumerate(names)]
    sentence = explanation_sentence(0.9, parts)
    assert sentence == (
        "Attends to [CLS] (20%), [SEP] (18%), the previous token (16%) and the next token (14%); others 22%; 90% "
        "predicted"
    )


def test_special_tokens_are_called_as_the_model_calls_them():
    parts = [Part(group="cls", share=0.5), Part(group="sep", share=0.2)]
    special = Special(cls="<s>", sep="</s>")
    assert explanation_sentence(0.7, parts, special=special) == "Attends to <s> (50%) and </s> (20%); 70% predicted"


def test_favored_tokens_are_written_as_they_are():
    parts = [Part(group=TOKENS, share=0.3, words=("not", "{cls}", "{", "}"))]
    assert explanation_sentence(0.3, parts) == "Attends to “not”, “{cls}”, “{”, “}” (30%); 30% predicted"


def test_tokens_that_are_written_alike_are_said_once():
    parts = [Part(group=TOKENS, share=0.3, words=("not", "no", "not", "never", "a", "b"))]
    assert explanation_sentence(0.3, parts) == "Attends to “not”, “no”, “never”, “a” (30%); 30% predicted"


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        (words.KINDS, "words like “is”, “was”"),
        (words.AFTER, "words after words like “is”, “was”"),
        (words.NEARBY, "words like “is”, “was” nearby"),
        (words.PAIRS, "words like “is”, “was” from words like “he”"),
        (words.PAIRS_AFTER, "words after words like “is”, “was” from words like “he”"),
    ],
)
def test_kinds_of_words_are_named_by_typical_tokens(group, expected):
    part = Part(group=group, share=0.3, words=("is", "was"), attending=("he",))
    assert explanation_sentence(0.3, [part]) == f"Attends to {expected} (30%); 30% predicted"


def test_what_varies_with_the_attending_token_is_said_last():
    parts = [Part(group=ATTENDING, share=0.4), Part(group="sep", share=0.3)]
    assert explanation_sentence(0.7, parts) == (
        "Attends to [SEP] (30%) and varies with the attending token (40%); 70% predicted"
    )
    assert explanation_sentence(0.4, parts[:1]) == "Varies with the attending token (40%); 40% predicted"


def test_groups_that_would_do_as_well_are_named():
    parts = [Part(group="previous", share=0.9, alternatives=("distance", "word_before"))]
    assert explanation_sentence(0.9, parts) == (
        "Attends to the previous token, nearby tokens or the word before (90%); 90% predicted"
    )


def test_groups_of_the_halves_together_may_come_before_a_larger_one():
    parts = [
        Part(group="cls", share=0.4),
        Part(group="previous", share=0.3, alternatives=("word_before",)),
        Part(group="word_before", share=0.2, alternatives=("previous",)),
    ]
    assert explanation_sentence(0.9, parts) == (
        "Attends to the previous token or the word before (50%) and [CLS] (40%); 90% predicted"
    )


def test_groups_that_the_halves_took_in_place_of_one_another_are_said_once():
    parts = [
        Part(group="previous", share=0.45, alternatives=("word_before",)),
        Part(group="word_before", share=0.44, alternatives=("previous",)),
        Part(group="sep", share=0.06, alternatives=("previous",)),
    ]
    assert explanation_sentence(0.95, parts) == (
        "Attends to the previous token or the word before (89%) and [SEP] or the previous token (6.0%); 95% predicted"
    )


def test_what_nothing_explains_is_said_to_be_so():
    assert explanation_sentence(-0.02, []) == (
        "No simple rule predicts a percent of its attention; all features together predict -2.0%"
    )
    assert explanation_sentence(0.3, [Part(group="cls", share=0.009)]) == (
        "No simple rule predicts a percent of its attention; all features together predict 30%"
    )


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
            alternatives=("distance",),
        ),
        Part(group=ATTENDING, share=0.05),
    ]
    assert explanation_sentence(0.75, parts) == (
        "Attends to [CLS] (40%), avoids the token itself (20%) and digits (10%) and varies with the attending token "
        "(5.0%); 75% predicted"
    )


def test_tokens_are_avoided_where_they_keep_more_attention_away_than_they_draw():
    parts = [Part(group=TOKENS, share=0.3, words=("the", "a"), avoided=True)]
    assert explanation_sentence(0.3, parts) == "Avoids “the”, “a” (30%); 30% predicted"


def vowels(rows):
    return rows.offset


def test_a_feature_of_a_user_has_a_group_of_its_own():
    feature = Feature("vowels", "vowels", "words with vowels", vowels)
    catalog = CATALOG.plus([feature])
    assert catalog.features["vowels"] is feature
    assert "vowels" not in FEATURES
    assert "vowels" not in GROUPS
    parts = [Part(group="vowels", share=0.4)]
    assert explanation_sentence(0.4, parts, catalog=catalog) == "Attends to words with vowels (40%); 40% predicted"


def test_a_feature_cannot_take_the_name_of_another():
    with pytest.raises(OptionError) as refused:
        CATALOG.plus([Feature("next", "next", "next", vowels)])
    assert str(refused.value) == (
        "there is a feature 'next' already; expected a name that is not in the catalog: give the feature another name"
    )
