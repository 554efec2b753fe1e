"""Page and terminal on behaviors by norm-weighted attention, in text and in experiments."""

import pytest

from headscope.analyses.behaviors.catalog import BEHAVIORS, NATURAL
from headscope.analyses.behaviors.chosen import chosen_heads
from headscope.analyses.behaviors.facts import PAGE, norm_rows
from headscope.analyses.experiments.facts import PAGE as EXPERIMENTS_PAGE
from headscope.analyses.experiments.tables import EXPERIMENTS
from headscope.present.page_tables import Grid
from support import mock_inputs
from support.measured import about, only
from support.mock_behaviors import place_of, with_behaviors

COLUMN = "norm-weighted"
DOTTED = "A dotted edge"
LOOKS = "A head may look at tokens of which it writes nothing"


def sentences_of(run, page=PAGE):
    """The sentences on norm-weighted attention."""
    return [each.text for each in page.findings(about(run)) if "norm-weighted" in each.text or each.goes_on]


def section_of(run, page=PAGE):
    return str(only(page.sections(about(run, found=page.findings(about(run))))))


@pytest.fixture(scope="module")
def run():
    """The heads that show `first` and `quote` write little of what they attend to."""
    return with_behaviors(mock_inputs.section_4(4, 8), unwritten=("first", "quote"))


def test_heads_are_chosen_by_weight_with_their_norm_weighted_attention_beside(run):
    by_name = {each.behavior.name: each for each in chosen_heads(run, "encoder", "")}
    for name, each in by_name.items():
        assert each.heads == (place_of(name, 4, 8),)
        assert each.estimate.value == 0.62
        little = name in ("first", "quote")
        assert each.by_norm.value == pytest.approx(0.062 if little else 0.62)
        assert each.not_by_norm == (each.heads if little else ())


def test_the_sentence_names_the_heads_that_do_not_write_what_they_show(run):
    layer, head = place_of("first", 4, 8)
    number = len([name for name in NATURAL if BEHAVIORS[name].unit == "share"]) - 1  # one cannot occur
    assert sentences_of(run) == [
        f"In text, 2 of {number} behaviors seen in attention weights are not seen in norm-weighted attention.",
        f"Most often this is “first token”, which 1 of 1 head shows in attention weights only: {layer}-{head}.",
    ]
    assert sentences_of(with_behaviors(mock_inputs.section_4(4, 8), unwritten=())) == [
        "In text, all behaviors seen in attention weights are also seen in norm-weighted attention."
    ]
    assert sentences_of(with_behaviors(mock_inputs.section_4(4, 8), unwritten=None)) == []
    assert sentences_of(with_behaviors(mock_inputs.section_4(4, 8), shown=False)) == []


def test_a_table_has_these_heads_with_both_shares(run):
    rows = norm_rows(about(run), about(run).kind("encoder"))
    assert [row["head"].text for row in rows] == ["{}-{}".format(*place_of(name, 4, 8)) for name in ("first", "quote")]
    assert [(row["shows"], row["weight"], pytest.approx(row["norm"])) for row in rows] == [
        ("First token", 0.62, 0.062),
        ("Quotation marks", 0.62, 0.062),
    ]
    assert 'id="table-behaviors-written-encoder"' in section_of(run)
    every = with_behaviors(mock_inputs.section_4(4, 8), unwritten=())
    assert norm_rows(about(every), about(every).kind("encoder")) == []
    assert "table-behaviors-written" not in section_of(every)


def test_the_column_appears_if_norms_are_known(run):
    page = section_of(run)
    assert f">{COLUMN}</th>" in page
    assert LOOKS in page
    without_norms = section_of(with_behaviors(mock_inputs.section_4(4, 8), unwritten=None))
    assert COLUMN not in without_norms
    assert LOOKS not in without_norms
    assert DOTTED not in without_norms


def test_experiments_have_the_same_sentences_and_tables_but_for_shuffled_words():
    run = with_behaviors(mock_inputs.section_4(4, 8), unwritten=("duplicate",))
    page = section_of(run, EXPERIMENTS_PAGE)
    layer, head = place_of("duplicate", 4, 8)
    assert sentences_of(run, EXPERIMENTS_PAGE) == [
        "Over repeated random tokens, 1 of 3 behaviors seen in attention weights is not seen in norm-weighted "
        "attention.",
        f"This is “{BEHAVIORS['duplicate'].label}”, which 1 of 1 head shows in attention weights only: {layer}-{head}.",
        "In repeated needles, all behaviors seen in attention weights are also seen in norm-weighted attention.",
    ]
    assert page.count(f">{COLUMN}</th>") == len(EXPERIMENTS)
    assert page.count(DOTTED) == 2
    assert "Norm-weighted: the token of which the head writes most" in page
    assert page.count('id="table-experiment-repeated-written-encoder"') == 1
    assert "table-experiment-needle-written" not in page
    assert "table-experiment-shuffled-written" not in page


def test_experiments_without_norms_do_not_mention_them():
    run = with_behaviors(mock_inputs.section_4(4, 8), unwritten=None)
    page = section_of(run, EXPERIMENTS_PAGE)
    assert sentences_of(run, EXPERIMENTS_PAGE) == []
    assert COLUMN not in page
    assert DOTTED not in page


@pytest.mark.slow
def test_the_terminal_has_every_table_of_chosen_heads_with_their_norm_weighted_attention(run):
    natural = ["6.2", *["62.0"] * 4, "6.2", *["62.0"] * 2]
    for page, columns in ((PAGE, [natural]), (EXPERIMENTS_PAGE, [["62.0"] * 3, ["62.0"], natural])):
        grids = [each for each in page.terminal(run) if isinstance(each, Grid)]
        assert [[row[grid.titles.index(COLUMN)] for row in grid.rows] for grid in grids] == columns
        without_norms = page.terminal(with_behaviors(mock_inputs.section_4(4, 8), unwritten=None))
        assert not any(COLUMN in each.titles for each in without_norms if isinstance(each, Grid))
    kinds = [each.rows[0][1] for each in PAGE.terminal(with_behaviors(mock_inputs.t5())) if isinstance(each, Grid)]
    assert kinds == ["encoder 1-1", "decoder 1-1", "cross 1-1"]
