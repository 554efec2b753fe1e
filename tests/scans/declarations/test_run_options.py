"""Options of a run: what each declares is checked, and what is measured follows from what stages declare."""

from dataclasses import fields
from pathlib import Path

import pytest

from headscope.app.beside_run import FUNCTIONS
from headscope.encoding.choices import DTYPES
from headscope.errors import OptionError
from headscope.scans.declarations import analysis_list
from headscope.scans.declarations.analysis_list import REQUESTS, STAGES
from headscope.scans.declarations.option import options_of
from headscope.scans.declarations.run_options import RunOptions

OPTIONS = options_of(RunOptions)
GROUPS = ("corpora", "model", "measure", "machine")
ALWAYS = ("distances", "map")
BY_NAME = tuple(dict.fromkeys(stage.request_name for stage in STAGES.values() if stage.by_name))
LAST = ("behaviors", "experiments", "distribution")
EXPLAINED = "explanation"
ORDERED = ("stats", "syntax", "coref", "norms", "importance", *ALWAYS, "probes", *LAST, "pca", EXPLAINED, "effects")


def test_every_field_is_an_option_that_explains_itself():
    assert [each.name for each in fields(RunOptions) if each.name not in OPTIONS] == [
        *("stages", "loaded_model", "loaded_other", "documents_in_memory", *(each.name for each in FUNCTIONS.values()))
    ]
    for name, each in OPTIONS.items():
        assert each.name == name
        assert each.help.endswith(".")
        assert each.help in RunOptions.__doc__
        assert each.group in GROUPS
        each.check(each.default)


@pytest.mark.parametrize("name", [name for name, each in OPTIONS.items() if each.choices])
def test_what_is_no_choice_is_refused(name):
    known = OPTIONS[name].choices
    several = OPTIONS[name].default == ()
    for value in known:
        OPTIONS[name].check((value,) if several else value)
    with pytest.raises(OptionError) as refused:
        RunOptions(**{name: ("other",) if several else "other"})
    assert str(refused.value) == f"{name} 'other' is not known; choose one of {', '.join(known)}"


@pytest.mark.parametrize("name", [name for name, each in OPTIONS.items() if each.least is not None])
def test_what_is_too_small_or_no_number_is_refused(name):
    least = OPTIONS[name].least
    assert getattr(RunOptions(**{name: least}), name) == least
    number = "a number from 0" if least == 0 else f"a whole number from {least}"
    with pytest.raises(OptionError) as refused:
        RunOptions(**{name: least - 1})
    assert str(refused.value) == f"{name} is {least - 1}; expected {number}"
    with pytest.raises(OptionError) as refused:
        OPTIONS[name].check("7")
    assert str(refused.value) == f"{name} is '7'; expected {number}"


def test_nothing_is_no_number_but_where_it_is_the_default():
    assert RunOptions(max_inputs=None, batch_size=None).max_inputs is None
    with pytest.raises(OptionError, match=r"^max_length is None; expected a whole number from 1$"):
        OPTIONS["max_length"].check(None)


def test_stages_and_options_name_each_other_rightly():
    shaping = {each.shaping for each in OPTIONS.values()} | set(FUNCTIONS)
    corpora = {corpus for each in OPTIONS.values() for corpus in each.holds}
    for stage in STAGES.values():
        assert set(stage.options) <= shaping, stage.name
        assert set(stage.required_options) <= set(OPTIONS), stage.name
        assert {*stage.corpora, *stage.optional_corpora} <= corpora, stage.name
    for name in shaping:
        assert hasattr(RunOptions(), name)
    for each in OPTIONS.values():
        assert set(each.of) <= corpora


def test_precisions_are_torchs():
    import torch

    assert all(getattr(torch, name).is_floating_point for name in DTYPES)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, ("stats", "syntax", "coref", "norms", *ALWAYS, *LAST, EXPLAINED)),
        ({"loss": "mlm"}, ("stats", "syntax", "coref", "norms", "importance", *ALWAYS, *LAST, EXPLAINED)),
        ({"text": ("a",)}, ("stats", "norms", *ALWAYS, *LAST, EXPLAINED)),
        ({"treebank": ("a",)}, ("stats", "syntax", "norms", *ALWAYS, *LAST, EXPLAINED)),
        ({"stages": ("pca",)}, ("pca",)),
        ({"treebank": ("a",), "stages": ("pca",)}, ("pca",)),
        ({"treebank": ("a",), "stages": ("syntax",)}, ("syntax",)),
        ({"coref": ("a",)}, ("stats", "coref", "norms", *ALWAYS, *LAST, EXPLAINED)),
        (
            {"treebank": ("a",), "treebank_train": ("b",)},
            ("stats", "syntax", "norms", *ALWAYS, "probes", *LAST, EXPLAINED),
        ),
        (
            {"text": ("a",), "treebank": ("b",), "treebank_train": ("c",), "coref": ("d",), "loss": "clm"},
            tuple(name for name in ORDERED if name not in BY_NAME),
        ),
        ({"maps": Path("a")}, ("stats", *ALWAYS, "behaviors", "distribution")),
        ({"text": ("a",), "stages": ("probes", "syntax")}, ("probes", "syntax")),
        ({"text": ("a",), "stages": BY_NAME}, BY_NAME),
        ({"text": ("a",), "include": BY_NAME}, ("stats", "norms", *ALWAYS, *LAST, "pca", EXPLAINED, "effects")),
        ({"text": ("a",), "stages": ("stats", *BY_NAME), "include": BY_NAME}, ("stats", *BY_NAME)),
        ({"text": ("a",), "skip": ("norms", *ALWAYS)}, ("stats", *LAST, EXPLAINED)),
        ({"text": ("a",), "skip": ("syntax", "coref")}, ("stats", "norms", *ALWAYS, *LAST, EXPLAINED)),
        ({"text": ("a",), "skip": ("distances",)}, ("stats", "norms", *LAST, EXPLAINED)),
        ({"stages": ("probes", "syntax"), "skip": ("syntax",)}, ("probes",)),
    ],
)
def test_what_is_given_says_what_is_measured(given, wanted):
    # What was added since is measured too.
    came = RunOptions(**given).wanted
    assert set(wanted) <= set(came)
    assert tuple(name for name in came if name in ORDERED) == tuple(name for name in wanted if name in ORDERED)


def test_what_is_left_out_unless_it_is_named():
    assert analysis_list.BY_NAME == OPTIONS["include"].choices == BY_NAME
    for wrong in ("direction", "stats"):
        with pytest.raises(OptionError) as refused:
            RunOptions(include=("pca", wrong))
        assert str(refused.value) == f"include {wrong!r} is not known; choose one of pca, effects, why"
    with pytest.raises(OptionError) as refused:
        RunOptions(include=("pca",), maps=Path("a"))
    assert str(refused.value) == (
        "saved maps hold no queries, keys or outputs; give a model and text in place of --maps to find their directions"
    )
    # A run with it and one without are two.
    assert set(RunOptions(include=BY_NAME).shaping["stages"]) - set(RunOptions().shaping["stages"]) == set(BY_NAME)
    assert "pca" not in RunOptions().shaping["stages"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"skip": ("experiment",)}, "skip 'experiment' is not known; choose one of syntax, coref, norms, "),
        ({"skip": BY_NAME[:1]}, f"skip {BY_NAME[0]!r} is not known; choose one of syntax, "),
        ({"stages": ("experiments",), "skip": ("experiments",)}, "--skip leaves nothing to measure; skip less"),
    ],
)  # fmt: skip
def test_what_cannot_be_skipped(given, words):
    with pytest.raises(OptionError) as refused:
        RunOptions(**given)
    assert str(refused.value).startswith(words)


def test_everything_but_the_statistics_of_attention_can_be_skipped():
    assert {*OPTIONS["skip"].choices, *BY_NAME, "stats"} == {*REQUESTS}
    # What is measured is in the run's id.
    assert "experiments" not in RunOptions(skip=("experiments",)).shaping["stages"]


@pytest.mark.parametrize(
    ("stages", "corpora"),
    [
        (("stats",), {"text"}),
        (("importance",), {"text"}),
        (("map",), set()),
        (("syntax",), {"treebank"}),
        (("probes",), {"treebank", "treebank_train"}),
        (("coref",), {"coreference", "gap"}),
        (("syntax", "distances"), {"treebank", "text"}),
    ],
)
def test_what_is_measured_says_what_is_read(stages, corpora):
    asked = RunOptions(stages=stages)
    every = {corpus for stage in STAGES.values() for corpus in stage.corpora}
    assert asked.corpora_read & every == corpora


def test_a_treebank_whose_trees_are_skipped_is_read_as_text():
    """There is no other text."""
    annotated = RunOptions(treebank=("a",), skip=("syntax",))
    assert annotated.corpora_read == {"text", "treebank"}
    assert "syntax" not in annotated.wanted
    assert RunOptions(treebank=("a",), text=("b",), skip=("syntax", "explanation")).corpora_read == {"text"}


def test_the_order_of_signatures_stays():
    """A run's id is made of it: with another order the same run would have another id."""
    # What is added stands behind.
    assert REQUESTS[: len(ORDERED)] == ORDERED
    asked = RunOptions(treebank=("a",), treebank_train=("b",), loss="mlm")
    assert list(asked.shaping) == [
        *("stages", "max_length", "token_types", "dtype", "max_inputs", "packing", "too_long", "compat"),
        *("spacing", "fold_labels", "pooling", "special_tokens", "both_directions", "controls", "shuffled"),
        *("loss", "labels", "seeds", "vectors_hash", "windows", "singletons", "features_hash"),
    ]
