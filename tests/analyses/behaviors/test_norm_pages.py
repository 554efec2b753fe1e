"""What page and terminal say of behaviors by what heads write, in text and by experiment."""

from functools import cache

import pytest

from headscope.analyses.behaviors.catalog import BEHAVIORS, NATURAL
from headscope.analyses.behaviors.chosen import chosen_heads
from headscope.analyses.behaviors.figure import NORM_KEY
from headscope.analyses.behaviors.findings import norm_sentence
from headscope.analyses.behaviors.in_terminal import render_results as render_behaviors
from headscope.analyses.behaviors.page_tables import NORM_CAPTION, NORM_COLUMN, norm_disagreements
from headscope.analyses.behaviors.section import behaviors_findings, behaviors_section
from headscope.analyses.experiments.catalog import EXPERIMENTS
from headscope.analyses.experiments.findings import experiments_findings
from headscope.analyses.experiments.in_terminal import render_results as render_experiments
from headscope.analyses.experiments.section import experiments_section
from headscope.analyses.stage_result import StageResult
from support import mock_inputs
from support.measured import about, only
from support.mock_behaviors import place_of, with_behaviors

EVERY = [BEHAVIORS[name] for name in NATURAL]


def chosen(run):
    (kind,) = (part["kind"] for part in run.manifest["kinds"])
    return chosen_heads(run.tables.get("behaviors"), run.tables.get("behaviors_best"), kind, EVERY)


def said(run):
    return [one.text for one in norm_sentence(chosen(run), about(run).kind("encoder"), "t", where="in text")]


@cache
def page_of(run):
    return str(only(behaviors_section(about(run, found=behaviors_findings(about(run))))))


@pytest.fixture(scope="module")
def run():
    """Of what the head that shows `first` and the one that shows `quote` look at they write little."""
    return with_behaviors(mock_inputs.section_4(4, 8), unwritten=("first", "quote"))


def test_weights_decide_and_what_is_written_stands_beside(run):
    by_name = {one.behavior.name: one for one in chosen(run)}
    for name, one in by_name.items():
        assert one.heads == (place_of(name, 4, 8),)
        assert one.estimate.value == 0.62
        little = name in ("first", "quote")
        assert one.by_norm.value == pytest.approx(0.062 if little else 0.62)
        assert one.not_by_norm == (one.heads if little else ())


def test_the_sentence_names_the_heads_that_do_not_write_what_they_show(run):
    layer, head = place_of("first", 4, 8)
    number = len([one for one in EVERY if one.unit == "share"]) - 1  # one cannot occur
    assert said(run) == [
        f"In text, 2 of {number} behaviors seen in attention weights are not seen in norm-weighted attention.",
        f"Most often it is “first token”, in 1 of 1 head: {layer}-{head}.",
    ]
    assert said(with_behaviors(mock_inputs.section_4(4, 8), unwritten=())) == [
        "In text, all behaviors seen in attention weights are also seen in norm-weighted attention."
    ]
    assert said(with_behaviors(mock_inputs.section_4(4, 8), unwritten=None)) == []
    assert said(with_behaviors(mock_inputs.section_4(4, 8), shown=False)) == []


def test_the_table_holds_them_with_both_numbers(run):
    name = "table-behaviors-written-encoder"
    table = norm_disagreements(run.tables.get("behaviors"), about(run).kind("encoder"), chosen(run), name=name)
    places = ["{}-{}".format(*place_of(name, 4, 8)) for name in ("first", "quote")]
    assert [row[0] for row in table.rows] == [f"Head {place}" for place in places]
    assert [row[1:] for row in table.rows] == [("First token", "62.0", "6.2"), ("Quotation marks", "62.0", "6.2")]
    assert table.html() in page_of(run)
    every = with_behaviors(mock_inputs.section_4(4, 8), unwritten=())
    assert norm_disagreements(every.table("behaviors"), about(every).kind("encoder"), chosen(every), name="t") is None


def test_the_column_is_there_where_it_is_known(run):
    assert f">{NORM_COLUMN}</th>" in page_of(run)
    assert NORM_CAPTION in page_of(run)
    bare = page_of(with_behaviors(mock_inputs.section_4(4, 8), unwritten=None))
    assert NORM_COLUMN not in bare
    assert "dotted" not in bare


def experiments_of(run):
    """What is said of experiments by what is written, and the section."""
    found = experiments_findings(about(run))
    told = [one.text for one in found if "norm-weighted" in one.text or one.goes_on]
    return told, str(only(experiments_section(about(run, found=found))))


def test_experiments_say_the_same_where_heads_are_told_by_them():
    told, page = experiments_of(with_behaviors(mock_inputs.section_4(4, 8), unwritten=("duplicate",)))
    layer, head = place_of("duplicate", 4, 8)
    # Of shuffled words nothing is said.
    assert told == [
        "Over repeated random tokens, 1 of 3 behaviors seen in attention weights is not seen in norm-weighted "
        "attention.",
        f"It is “{BEHAVIORS['duplicate'].label}”, in 1 of 1 head: {layer}-{head}.",
        "In repeated needles, all behaviors seen in attention weights are also seen in norm-weighted attention.",
    ]
    assert page.count(f">{NORM_COLUMN}</th>") == len(EXPERIMENTS)
    assert page.count(NORM_KEY) == 2
    assert "Of what it writes: the token of which the head writes most" in page
    assert page.count('id="table-experiment-repeated-encoder-written"') == 1
    assert "table-experiment-needle-encoder-written" not in page
    assert "table-experiment-shuffled-encoder-written" not in page


def test_experiments_by_weight_alone_say_nothing_of_it():
    told, page = experiments_of(with_behaviors(mock_inputs.section_4(4, 8), unwritten=None))
    assert told == []
    assert NORM_COLUMN not in page
    assert NORM_KEY not in page
    assert NORM_CAPTION not in page


def test_the_terminal_has_the_number_of_the_named_head_where_it_is_known(run):
    def lines(run):
        names = ("behaviors", "behaviors_best", "experiments", "experiments_best")
        result = StageResult(name="made", tables={name: run.tables.get(name) for name in names})
        for render in (render_behaviors, render_experiments):
            yield from (line for line in render(result) if isinstance(line, str) and "write:" in line)

    natural = "first 6.2, local 62.0, duplicate 62.0, induction 62.0, newline 62.0, quote 6.2, bracket 62.0, mark 62.0"
    assert list(lines(run)) == [
        f"the same of what these heads write: {said}"
        for said in (natural, "induction 62.0, duplicate 62.0, previous 62.0", "retrieval 62.0", natural)
    ]
    assert list(lines(with_behaviors(mock_inputs.section_4(4, 8), unwritten=None))) == []
    two = with_behaviors(mock_inputs.t5())
    assert "decoder first 6.2, decoder local 62.0" in next(lines(two))
