"""`compat` fixes what the original's notebook fixes, says so in the signature, and refuses what contradicts it."""

from pathlib import Path

import pytest

from headscope.errors import OptionError
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare
from support.maps_folders import whole


def test_pooling_that_is_not_given_follow_from_compat():
    assert RunOptions().pooling == "mean"
    assert RunOptions(pooling="max").pooling == "max"
    assert RunOptions(compat="original").pooling == "first"
    assert RunOptions(compat="original", pooling="first").pooling == "first"


def test_spacing_that_is_not_given_follows_from_compat():
    assert RunOptions().spacing == "written"
    assert RunOptions(spacing="words").spacing == "words"
    assert RunOptions(compat="original").spacing == "words"
    assert RunOptions(compat="original", treebank=("a",)).shaping["spacing"] == "words"


@pytest.mark.parametrize(
    ("corpora", "extra"), [({"treebank": ("a",)}, {}), ({"treebank": ("a",), "coref": ("a",)}, {"strict": True})]
)
def test_the_signature_says_what_is_done(corpora, extra):
    shaping = RunOptions(compat="original", **corpora, **extra).shaping
    assert (shaping["compat"], shaping["pooling"]) == ("original", "first")
    assert [shaping[name] for name in ("special_tokens", "both_directions", "fold_labels")] == [False] * 3


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"pooling": "max"}, "--pooling max contradict each other: the original's notebook reads attention from a "
         "cut word's first piece"),
        ({"pooling": "mean"}, "--pooling mean contradict each other: the original's notebook reads attention from a "
         "cut word's first piece"),
        ({"spacing": "written"}, "--spacing written contradict each other: the original's notebook joins the words of "
         "a treebank by spaces"),
        ({"special_tokens": True}, "--special-tokens contradict each other: the original's notebook leaves special "
         "tokens out"),
        ({"both_directions": True}, "--both-directions contradict each other: the original's notebook scores each "
         "direction by itself"),
        ({"fold_labels": True}, "--fold-labels contradict each other: the original's notebook counts labels as they "
         "stand"),
    ],
)  # fmt: skip
def test_what_contradicts_it_is_refused(option, words):
    with pytest.raises(OptionError) as refused:
        RunOptions(compat="original", **option)
    assert str(refused.value) == f"--compat original and {words}; leave one of the two out"
    assert RunOptions(**option)


def read(folder: Path, **options):
    """What a run over saved maps of a treebank says that it does."""
    run = prepare(RunOptions(maps=folder, stages=("syntax",), **options))
    return run.options.pooling, run.signature["options"]["pooling"]


def test_maps_have_settled_how_words_are_joined(tmp_path):
    with pytest.raises(OptionError) as refused:
        read(whole(tmp_path, "encoder"), spacing="words")
    assert str(refused.value) == (
        "--maps holds what a model made of the words as they were joined; leave --spacing out"
    )


def test_maps_by_token_leave_the_choice(tmp_path):
    folder = whole(tmp_path, "encoder")
    assert read(folder) == ("mean", "mean")
    assert read(folder, pooling="max") == ("max", "max")
    assert read(folder, compat="original") == ("first", "first")


def test_maps_by_word_have_settled_it(tmp_path):
    """Those of the helper are joined by their mean: the signature says that and nothing else."""
    folder = whole(tmp_path, "words")
    assert read(folder) == read(folder, pooling="mean") == ("mean", "mean")
    for options, begins in (
        ({"pooling": "max"}, "--pooling max does not fit these maps, which are by word already (--pooling mean); "),
        ({"compat": "original"}, "--compat original, which reads --pooling first, does not fit these maps, "),
    ):
        with pytest.raises(OptionError) as refused:
            read(folder, **options)
        assert str(refused.value).startswith(begins)
