"""What the report says of explanations: one finding first of all, and a sentence for a head without another name."""

import pandas as pd
import pytest

from headscope.analyses.explanation.catalog import GROUPS
from headscope.analyses.explanation.facts import PAGE, head_sentences
from headscope.analyses.explanation.looks import COLORS, color_of, stacked
from headscope.reporting.payload import data_block
from headscope.reporting.story import all_findings, headline
from support import mock_inputs
from support.measured import about, with_parts
from support.mock_explanation import explained_share, with_explanation


@pytest.fixture(scope="module")
def explained():
    return about(with_explanation(mock_inputs.section_4(4, 8)))


def test_the_finding_names_the_median_and_random_weights(explained):
    finding, condition = PAGE.findings(explained)
    shares = sorted(explained_share(layer, head) for layer in range(1, 5) for head in range(1, 9))
    median = 100 * (shares[15] + shares[16]) / 2
    assert finding.text == (
        f"Simple rules predict {median:.0f}% of the attention of a typical head; 2.0% with random weights."
    )
    # Heads one point apart, with intervals of two points on either side: none is shown to be explained least.
    assert condition.text == "This is the median of 32 heads, on documents to which the rules were not fitted."
    first = headline(all_findings(explained))
    assert first[0].topic == "explanation"
    assert condition not in first


def changed(context, chosen, **values):
    """The run with other numbers of some of its explanations."""
    table = context.run.table("explanation").copy()
    table.loc[chosen(table), list(values)] = list(values.values())
    return about(with_parts(context.run, explanation=table))


def test_rules_that_predict_less_than_uniform_attention_predict_none(explained):
    """With random weights the rules of one half of the documents mislead on the other: the share is negative."""
    worse = changed(explained, lambda table: table["model"] == "control", explained=-0.045)
    assert PAGE.findings(worse)[0].text.endswith("; none with random weights.")


def test_heads_are_named_as_explained_least_where_no_other_head_could_be(explained):
    texts = [
        each.text
        for each in PAGE.findings(
            changed(
                explained,
                lambda table: (table["layer"] == 2) & (table["head"] < 3) & (table["model"] == "trained"),
                explained=0.3,
                ci_low=0.25,
                ci_high=0.35,
            )
        )
    ]
    assert texts[2] == "Least explained: 2-1 and 2-2."


def test_heads_that_attend_uniformly_have_nothing_to_explain(explained):
    """A tenth of a ten-thousandth of a nat is explained by any noise, of random weights above all."""
    (text,) = [
        each.text for each in PAGE.findings(changed(explained, lambda table: table["layer"] > 0, to_explain=0.0001))
    ]
    assert text == ("No head differs from uniform attention by 0.01 nats or more, so that there is nothing to explain.")
    some = changed(explained, lambda table: table["layer"] > 2, to_explain=0.0001)
    first, second, third = (each.text for each in PAGE.findings(some))
    median = (explained_share(1, 8) + explained_share(2, 1)) / 2
    assert first.startswith(f"Simple rules predict {100 * median:.0f}% ")
    assert second == "This is the median of 16 heads, on documents to which the rules were not fitted."
    assert third == "16 heads differ from uniform attention by less than 0.01 nats, and are left out."


def test_each_head_has_its_sentence_in_the_pages_data(explained):
    (kind,) = explained.kinds
    sentences = head_sentences(explained.run, kind)
    assert sentences[kind.head_index(2, 3)] == "Attends to [CLS] (77%); 77% predicted"
    index = kind.head_index(2, 3)
    block = data_block(explained.run)
    (page_kind,) = block["kinds"]
    assert page_kind["summaries"][index] == ["Previous token", ": attends to [CLS] (77%); 77% predicted"]
    assert block["looks"][page_kind["looks"][index]] == {"name": "previous", "label": "Previous token"}
    assert (page_kind["explained"][index], page_kind["sink"][index]) == (0.77, 0.6)


def test_a_run_without_explanations_says_nothing_of_them():
    plain = about(mock_inputs.section_4(4, 8))
    assert PAGE.findings(plain) == []
    assert not any("explained" in name for name, _ in data_block(plain.run)["kinds"][0]["summaries"])


def test_a_bar_has_what_each_color_adds_and_leaves_out_what_takes_away():
    rows = [("cls", 0.4), ("distance", 0.2), ("side", 0.1), ("previous", 0.05), ("tokens", -0.02), ("own", 0.03)]
    groups = pd.DataFrame([{"layer": 2, "head": 3, "group": group, "share": share} for group, share in rows])
    (bar,) = stacked(groups).items()
    assert bar == ((2, 3), pytest.approx({"cls": 0.4, "position": 0.3, "previous": 0.05, "added": 0.03}))


def test_every_group_has_a_color_that_is_stacked():
    assert {color_of(group) for group in (*GROUPS, "own")} == set(COLORS)


def page_of(run):
    """The sentences of a run, and the markup of its section."""
    sentences = PAGE.findings(about(run))
    (section,) = PAGE.sections(about(run, found=sentences))
    return [each.text for each in sentences], str(section.html)


def test_the_page_and_the_terminal_have_each_corpus():
    run = with_explanation(mock_inputs.section_4(4, 8), annotated=("treebank", "coreference"))
    sentences, html = page_of(run)
    shares = sorted(explained_share(layer, head) for layer in range(1, 5) for head in range(1, 9))
    said = f"simple rules predict {50 * (shares[15] + shares[16]):.0f}% of the attention of a typical head"
    annotated = [f"In the treebank, with its trees, {said}.", f"In the coreference corpus, with its mentions, {said}."]
    assert [text for text in sentences if text.startswith("In ")] == annotated
    for sentence in annotated:
        assert f'<p class="finding">{sentence}</p>' in html
    for corpus in ("", "-treebank", "-coreference"):
        assert f'<table id="table-explanation{corpus}-encoder">' in html
    lines = list(PAGE.terminal(run))
    assert [f"- {sentence}" in lines for sentence in annotated] == [True, True]
    grids = [line for line in lines if not isinstance(line, str)]
    assert [len(grid.rows) for grid in grids] == [32, 32, 32]
    # The share that the sentence ends with has a column of its own.
    assert grids[1].rows[0][-1] == "Attends to the direct object of a verb (84%)"


def test_heads_that_too_few_documents_explain_have_no_sentence():
    """A corpus of fewer than ten documents explains no head: a missing value in the table, and no words for it."""
    run = with_explanation(mock_inputs.encoder(2, 3), annotated=("treebank",))
    table = run.tables["explanation"].copy()
    treebank = table["corpus"] == "treebank"
    table.loc[treebank, ["explained", "ci_low", "ci_high", "sentence"]] = None
    run = with_parts(run, explanation=table)
    (kind,) = about(run).kinds
    assert head_sentences(run, kind, "treebank") == {}
    assert len(head_sentences(run, kind)) == 6
    *_, grid = [line for line in PAGE.terminal(run) if not isinstance(line, str)]
    assert [row[-1] for row in grid.rows] == [""] * 6
    *_, grid = [line for line in PAGE.terminal(run, find="[CLS]") if not isinstance(line, str)]
    assert list(grid.rows) == []
    sentences, html = page_of(run)
    assert "In the treebank, with its trees, no head is explained: that needs 10 documents." in sentences
    assert ">nan<" not in html.lower()


def test_a_corpus_that_is_not_read_has_no_table(explained):
    _, html = page_of(explained.run)
    assert "treebank" not in html
    run = with_explanation(mock_inputs.encoder(2, 3))
    assert len([line for line in PAGE.terminal(run) if not isinstance(line, str)]) == 1


def test_the_terminal_shows_the_heads_whose_sentence_says_some_words():
    sentences = {
        (1, 2): "Attends to “never” (31%) and rare tokens (9.1%); 40% predicted",
        (2, 3): "Attends to pieces of words (20%) and avoids the previous token (30%); others 2.0%; 52% predicted",
    }
    run = with_explanation(mock_inputs.encoder(2, 3), sentences=sentences)

    def found(words):
        table, grid = list(PAGE.terminal(run, find=words))[3:5]
        assert table.startswith("Table: the explained share of each encoder head, the most explained first")
        return table.rpartition("first")[2], [row[0] for row in grid.rows]

    grid = list(PAGE.terminal(run, find="previous"))[4]
    assert grid.rows[0][-1] == "Attends to pieces of words (20%) and avoids the previous token (30%); others 2.0%"
    assert found("never") == (", 1 of 6 rows:", ["1-2"])
    assert found("previous tokens") == (", 1 of 6 rows:", ["2-3"])
    assert found("piece word") == (", 1 of 6 rows:", ["2-3"])
    assert found("rare") == (", 0 of 6 rows:", [])
    assert found("[CLS]")[1] == ["1-1", "1-3", "2-1", "2-2"]
    assert found(" ")[1] == []
