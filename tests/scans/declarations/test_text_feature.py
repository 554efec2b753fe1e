"""A user's feature is checked when it is made, and a run knows its function again by its code."""

from functools import partial

import pytest

from headscope.errors import OptionError
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.declarations.user_functions import TextFeature, check_features, hash_of_features


def vowels(text):
    return [sum(letter in "aeiou" for letter in token) for token in text.tokens]


def feature(**changed):
    return TextFeature(**{"name": "vowels", "sentence": "tokens with vowels", "compute": vowels, **changed})


NAMES = "expected small letters, digits and _, as ends_in_ing"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: feature(name="My Feature"), f"the name of a feature is 'My Feature'; {NAMES}"),
        (lambda: feature(group="A b"), f"the group of a feature is 'A b'; {NAMES}"),
        (
            lambda: feature(sentence=" "),
            "feature 'vowels' has no sentence; expected what its keys are, as 'tokens that end in -ing'",
        ),
        (
            lambda: feature(compute=[1, 2]),
            "compute of feature 'vowels' is a list; expected a function of a text that returns a number for each of "
            "its tokens",
        ),
        (
            lambda: check_features(feature()),
            "features is a TextFeature; expected a list of hs.TextFeature, as [my_feature]",
        ),
        (
            lambda: check_features([vowels]),
            "features has a function; expected hs.TextFeature(name=..., sentence=..., compute=...)",
        ),
        (
            lambda: check_features([feature(), feature(sentence="others")]),
            "two features are named 'vowels'; give each a name of its own",
        ),
    ],
)
def test_what_is_no_feature_is_refused(make, message):
    with pytest.raises(OptionError) as refused:
        make()
    assert str(refused.value) == message


def ending(letters):
    return lambda text: [token.endswith(letters) for token in text.tokens]


class Counter:
    def __init__(self, letters):
        self.letters = letters

    def __call__(self, text):
        return [token.count(self.letters) for token in text.tokens]


def counted(letters, text):
    return [token.count(letters) for token in text.tokens]


def test_another_function_has_another_hash_and_the_same_has_the_same():
    def hash_of(compute, **changed):
        return hash_of_features([feature(compute=compute, **changed)])

    different = {
        *(hash_of(vowels), hash_of(vowels, sentence="others"), hash_of(vowels, group="letters")),
        *(hash_of(ending("ing")), hash_of(ending("ed")), hash_of(lambda text: text.ids == 3)),
        *(hash_of(lambda text: text.ids == 4), hash_of(lambda text: text.word_ids == 4)),
        *(hash_of(partial(counted, "a")), hash_of(partial(counted, "b"))),
        *(hash_of(Counter("a")), hash_of(Counter("b"))),
    }
    assert len(different) == 12
    assert hash_of(ending("ing")) == hash_of(ending("ing"))
    assert hash_of(Counter("a")) == hash_of(Counter("a"))
    assert hash_of(partial(counted, "a")) == hash_of(partial(counted, "a"))
    assert hash_of_features([]) is None


def test_features_shape_explanations_alone():
    plain, added = (RunOptions(stages=("explanation",), features=some) for some in ((), (feature(),)))
    assert plain.shaping["features_hash"] is None
    assert added.shaping["features_hash"] == hash_of_features([feature()])
    assert "features_hash" not in RunOptions(stages=("stats",), features=(feature(),)).shaping
