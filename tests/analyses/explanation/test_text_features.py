"""Features of a user's: what their functions are given, what they may return, and that heads are explained by them."""

import numpy as np
import pytest

import headscope as hs
from headscope.analyses.explanation.catalog import FEATURES, GROUPS, catalog_with
from headscope.analyses.explanation.looks import color_of
from headscope.errors import OptionError
from headscope.scans.declarations.user_functions import TextFeature
from support.model_folders import save_tiny_masked_lm
from support.planted_explanations import context, explained, inputs, vocabulary

KEYS = TextFeature(
    name="ends_in_e", sentence="tokens that end in e", compute=lambda text: [t.endswith("e") for t in text.tokens]
)


def first_letters(text):
    """Pairs of tokens with one first letter."""
    letters = np.array([token[:1] for token in text.tokens])
    return (letters[:, None] == letters) & (letters != "") & ~np.eye(len(text), dtype=bool)


PAIRS = TextFeature(name="alliteration", sentence="tokens that begin alike", compute=first_letters)


def rows_of(number=0):
    each = inputs()[number]
    return each, context(each, np.ones((len(each.rows), len(each.tokens)), dtype=bool), trees=True)


def test_a_function_is_given_the_tokens_and_what_is_known_of_them():
    each, rows = rows_of()
    seen = []
    catalog_with([TextFeature(name="a", sentence="a", compute=lambda text: seen.append(text) or text.ids)]).features[
        "a"
    ].values(rows)
    (text,) = seen
    assert len(text) == len(text.tokens) == len(each.tokens)
    names = [vocabulary().texts[number] for number in each.tokens.ids]
    assert list(text.tokens) == names
    assert text.special.tolist() == [token == "" for token in names]
    np.testing.assert_array_equal(text.word_ids, each.tokens.word_ids)
    assert all(
        text.words[word].endswith(token) for token, word in zip(names, text.word_ids) if word >= 0 and token[:1] == "s"
    )
    assert (text.tags, text.relations, text.entities) == (each.annotation.tags, each.annotation.relations, None)


@pytest.mark.parametrize("feature", [KEYS, PAIRS], ids=["of keys", "of pairs"])
def test_what_a_function_returns_is_taken_at_the_rows(feature):
    each, rows = rows_of()
    computed = np.broadcast_to(catalog_with([feature]).features[feature.name].values(rows), rows.visible.shape)
    tokens = [vocabulary().texts[number] for number in each.tokens.ids]
    if feature is KEYS:
        expected = [[float(token.endswith("e")) for token in tokens] for _ in each.rows]
    else:
        expected = [
            [float(tokens[i][:1] == tokens[j][:1] != "" and i != j) for j in range(len(tokens))] for i in each.rows
        ]
    np.testing.assert_array_equal(computed, expected)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            lambda text: [1.0],
            "feature 'mine' returned 1 numbers for a text of {n} tokens; expected {n} finite numbers, one a key, "
            "or {n} x {n}, [query, key]: give 0 where a token has no number",
        ),
        (
            lambda text: np.zeros((2, len(text))),
            "feature 'mine' returned 2 x {n} numbers for a text of {n} tokens; expected {n} finite numbers, one a key, "
            "or {n} x {n}, [query, key]: give 0 where a token has no number",
        ),
        (
            lambda text: text.tokens,
            "feature 'mine' returned a tuple that holds other things than numbers; expected {n} finite numbers, one "
            "a key, or {n} x {n}, [query, key]: give 0 where a token has no number",
        ),
        (
            lambda text: np.full(len(text), np.inf),
            "feature 'mine' returned a number that is not finite; expected {n} finite numbers, one a key, "
            "or {n} x {n}, [query, key]: give 0 where a token has no number",
        ),
    ],
)
def test_what_is_no_number_a_token_is_refused(values, message):
    each, rows = rows_of()
    mine = TextFeature(name="mine", sentence="mine", compute=values)
    with pytest.raises(OptionError) as refused:
        catalog_with([mine]).features["mine"].values(rows)
    assert str(refused.value) == message.format(n=len(each.tokens))


@pytest.mark.slow
def test_a_head_that_does_what_a_user_says_is_explained_by_it():
    def attention(each):
        rows = context(each, np.ones((len(each.rows), len(each.tokens)), dtype=bool), trees=False)
        weights = np.exp(6.0 * catalog_with([PAIRS]).features["alliteration"].values(rows))
        return weights / weights.sum(1, keepdims=True)

    head = [attention(each) for each in inputs()]
    catalog = catalog_with([KEYS, PAIRS])
    ((row, groups),) = explained([head], catalog=catalog)
    assert row["explained"] > 0.97
    assert max(groups, key=groups.get) == "alliteration"
    assert row["sentence"].startswith("Attends to tokens that begin alike (")
    assert color_of("alliteration") == "added"
    assert "alliteration" not in {*GROUPS, *FEATURES}


@pytest.mark.slow
def test_a_run_takes_features_and_measures_again_where_one_has_changed(tmp_path):
    model = str(save_tiny_masked_lm(tmp_path / "model"))
    texts = [f"The cat number {number} sat on the mat. It was sleeping." for number in range(14)]
    seen = []

    def explained(ending):
        def ends(text):
            seen.append(ending)
            return [token.endswith(ending) for token in text.tokens]

        mine = hs.TextFeature(name="ends_so", sentence=f"tokens that end in {ending}", compute=ends)
        return hs.explanation(model, text=texts, features=[mine], controls=0, packing="single", out=tmp_path / "out")

    assert len(explained("ing").table("explanation"))
    assert set(seen) == {"ing"}
    seen.clear()
    explained("ing")
    assert seen == []
    explained("at")
    assert set(seen) == {"at"}


def test_a_name_of_the_catalog_is_refused_before_anything_is_read(tmp_path):
    taken = TextFeature(name="previous", sentence="mine", compute=len)
    with pytest.raises(OptionError) as refused:
        hs.explanation(
            str(save_tiny_masked_lm(tmp_path / "model")), text=["The cat sat."] * 2, features=[taken], controls=0
        )
    assert str(refused.value) == (
        "there is a feature 'previous' already; expected a name that is not in the catalog: give the feature another "
        "name"
    )
