"""Dependency relations in the page: tables read back and compared with the frames, drawings, and what is missing."""

import re

import numpy as np
import pandas as pd
import pytest

from headscope.analyses.arc_examples.facts import PAGE as ARCS
from headscope.analyses.arc_examples.facts import figure_examples, groups_of
from headscope.analyses.for_report import arc_examples
from headscope.analyses.syntax.facts import PAGE, PARTS
from headscope.analyses.syntax.relation_layers import STEPS, drawn_cells, heat, on_shade, shade
from headscope.analyses.syntax.relations import best_offsets, relations_of
from headscope.present.blocks import CaptionBlock
from headscope.present.cells import Cell, Runs
from headscope.present.page_tables import strip
from headscope.present.words import DIRECTIONS, found_words, gloss, short
from headscope.reporting.story import findings
from headscope.views.bundle import source
from support import mock_inputs
from support.measured import about, only, with_parts
from support.mock_syntax import MEASURED, with_treebank
from support.page_tables import Tables


def section(inputs, *, curves=False):
    """The section; without its curves, which take most of the time."""
    inputs = inputs if curves else with_parts(inputs, syntax_by_distance=None)
    return only(PARTS.sections(about(inputs, found=findings(inputs))))


@pytest.fixture(scope="module")
def inputs():
    return mock_inputs.section_4(6, 12)


@pytest.fixture(scope="module")
def markup(inputs):
    return section(inputs, curves=True)


@pytest.fixture(scope="module")
def tables(markup):
    return Tables(markup).found


def label_of(cell):
    """A relation's label, which its gloss follows in the same cell."""
    return next(
        name for name, *_ in sorted(MEASURED, key=lambda row: -len(row[0])) if cell == short(name) + gloss(name)
    )


def test_table_1_is_the_frame(inputs, tables):
    best = inputs.tables.get("syntax_best")
    rows = [row for row in tables["table-1"][1:] if len(row) > 1]
    trained = best[(best["model"] == "trained") & (best["selection"] == "held-out")].set_index("relation")
    assert sorted(label_of(row[0]) for row in rows) == sorted(trained.index)
    for row in rows:
        name = label_of(row[0])
        told = trained.loc[name]
        _, head, _, accuracy, offset, above, every, held, control, q, way, n = row
        assert head == f"{told['layer']}-{told['head']}in {100 * told['share']:.0f}% of splits"
        assert accuracy == f"{100 * told['accuracy']:.1f}{100 * told['ci_low']:.1f}–{100 * told['ci_high']:.1f}"
        sign = "+" if told["baseline_offset"] > 0 else "−"
        assert offset == f"{100 * told['baseline_accuracy']:.1f}{sign}{abs(told['baseline_offset'])}"
        margin, low, high = (f"{100 * told[key]:.1f}" for key in ("margin", "margin_ci_low", "margin_ci_high"))
        plus = "" if told["margin"] < 0 else "+"
        assert above.replace("−", "-") == f"{plus}{margin}{low} to {high}"
        for column, shown in (("all_documents", every), ("held_out", held)):
            value, low, high = (f"{100 * told[f'{column}{key}']:.1f}" for key in ("", "_ci_low", "_ci_high"))
            assert shown == f"{value}{low}–{high}"
        seeds = best[(best["model"] == "control") & (best["relation"] == name)]["held_out"]
        assert control == f"{100 * seeds.mean():.1f}{100 * seeds.min():.1f}–{100 * seeds.max():.1f}"
        tested = "<0.001" if told["q_value"] < 0.001 else f"{told['q_value']:.3f}"
        assert q == ("–" if name.startswith("all") else tested)
        assert way == DIRECTIONS[told["direction"]]
        assert n == f"{told['n_arcs']:,}"


def test_what_does_not_beat_its_offset_stands_apart_and_is_hollow(inputs, markup, tables):
    titles = [row[0] for row in tables["table-1"] if len(row) == 1]
    assert titles == ["Not shown to beat every fixed offset", "All relations together"]
    at = [row[0] for row in tables["table-1"]].index(titles[0])
    before = {label_of(row[0]) for row in tables["table-1"][1:at]}
    best = inputs.tables.get("syntax_best").query("model == 'trained' and selection == 'held-out'")
    beating = best[(best["q_value"] < 0.05) & (best["accuracy"] > best["baseline_accuracy"])]
    assert before == set(beating["relation"]) - {"all", "all_but_punct_root"}
    (table,) = re.findall(r'<table id="table-1".*?</table>', markup, re.DOTALL)
    assert table.count('class="weak"') == 23 - len(before) == table.count("strip-row weak")


def test_what_was_not_tested_stands_under_a_heading_that_says_so(inputs):
    best = inputs.tables.get("syntax_best").copy()
    best.loc[best["relation"].isin(["acl", "obj"]), "q_value"] = np.nan
    rows = Tables(section(with_parts(inputs, syntax_best=best))).found["table-1"]
    titles = [row[0] for row in rows if len(row) == 1]
    assert titles[:2] == ["Not shown to beat every fixed offset", "Not tested: fewer than 10 documents"]
    at = [row[0] for row in rows].index(titles[1])
    assert sorted(label_of(row[0]) for row in rows[at + 1 : at + 3]) == ["acl", "obj"]
    assert {row[9] for row in rows[at + 1 : at + 3]} == {"not tested"}


def test_a_low_q_below_the_offset_is_no_success(inputs):
    best = inputs.tables.get("syntax_best").copy()
    best.loc[best["relation"] == "acl", "q_value"] = 0.001
    (acl,) = [one for one in relations_of(with_parts(inputs, syntax_best=best)) if one.name == "acl"]
    assert acl.held_out.margin < 0
    assert not acl.held_out.beats


def test_same_data_is_folded_and_named_the_papers_way(inputs, markup, tables):
    same = inputs.tables.get("syntax_best").query("selection == 'same-data'").set_index("relation")
    rows = tables["table-1-same-data"][1:]
    assert len(rows) == len(same)
    for row in rows:
        (name,) = [one for one in same.index if short(one) == row[0]]
        assert row[2] == f"{same.loc[name, 'layer']}-{same.loc[name, 'head']}"
        assert float(row[4]) == pytest.approx(100 * same.loc[name, "accuracy"], abs=0.051)
    assert "Table: the paper’s way, chosen and scored on the same sentences" in markup


def test_noop_and_distance_tables_are_the_frames(inputs, tables):
    rows = tables["table-syntax-noop"][1:]
    best = inputs.tables.get("syntax_best").query("model == 'trained' and selection == 'held-out'")
    beating = set(best[(best["q_value"] < 0.05) & (best["margin"] > 0)]["relation"])
    noop = inputs.tables.get("syntax_noop")
    # Relations that no head is shown to find are left out: it is not known who attends in them.
    assert 0 < len(rows) == noop["relation"].isin(beating).sum() < len(noop)
    told = {(row["relation"], row["key_class"]): row for row in inputs.tables.get("syntax_noop").to_dict("records")}
    for row in rows:
        here = told[row[0], {"[SEP]": "sep", "[CLS]": "cls"}[row[3]]]
        assert (
            row[2]
            == {"dependent->head": "dependent → head word", "head->dependent": "head word → dependent"}[
                here["direction"]
            ]
        )
        assert float(row[4]) == pytest.approx(100 * here["attending"], abs=0.051)
        assert float(row[6]) == pytest.approx(100 * here["others"], abs=0.051)
        assert float(row[8].replace("−", "-")) == pytest.approx(100 * here["difference"], abs=0.051)
    rows = tables["table-syntax-distance"][1:]
    distances = inputs.tables.get("syntax_by_distance")
    assert len(rows) == len(distances)
    for row in rows[:60]:
        (here,) = [one for one in distances.to_dict("records")
                   if short(one["relation"]) == row[0] and one["distance"] == row[2]]  # fmt: skip
        assert row[3] == f"{here['n_arcs']:,}"
        assert row[4] == ("–" if np.isnan(here["accuracy"]) else f"{100 * here['accuracy']:.1f}")


def test_the_heat_map_links_each_cell_to_its_head(inputs, markup, tables):
    rows = tables["table-heat-encoder"]
    assert rows[0] == ["relation", "1", "2", "3", "4", "5", "6"]
    assert len(rows) == 24
    best = (
        inputs.tables.get("syntax")[inputs.tables.get("syntax")["relation"] == "obj"].groupby("layer")["accuracy"].max()
    )
    (obj,) = [row for row in rows if row[0] == "obj"]
    assert obj[1:] == [f"{100 * value:.0f}" for value in best]
    (cell,) = re.findall(r'<td class="v(\d)"><a href="#encoder-3-1" title="([^"]*)"', markup)[:1]
    assert cell[0] == "9"
    assert cell[1].startswith("Head 3-1, dependent → head word: 75.2% (")
    assert cell[1].endswith("+39.4 points to the best offset")


def test_the_shades_of_the_page_are_viridis():
    """Dark is more on white, bright is more on black."""
    written = source("report/heat.css")
    light, dark = written.split("@media")
    for step in range(1, STEPS + 1):
        turned = STEPS + 1 - step
        assert f".v{step}{{background:{shade(step)}}}.heat .v{step}{{color:{on_shade(step)}}}" in light
        assert f".v{step}{{background:{shade(turned)}}}.heat .v{step}{{color:{on_shade(turned)}}}" in dark


def test_a_heat_map_of_a_big_model_keeps_the_frequent_relations():
    measured = [(f"r{place}", 100 + place, *MEASURED[2][2:]) for place in range(80)]
    inputs = with_treebank(mock_inputs.encoder(24, 1), measured=measured)
    (table,) = Tables(heat(about(inputs), about(inputs).kind("encoder"))).found.values()
    assert {row[0] for row in table[1:]} == {f"r{place}" for place in range(18, 80)}
    assert drawn_cells(mock_inputs.encoder(24, 1), "encoder") == {}


def test_the_best_offset_is_that_of_the_whole_treebank(inputs):
    offsets = best_offsets(inputs.tables["syntax_baselines"])
    assert offsets["obj"] == pytest.approx(0.358)
    assert offsets["det"] == pytest.approx(0.589)


def test_the_strip_is_to_scale():
    accuracy = Cell(0.75, 0.7, 0.8, np.nan, 100)
    drawn = strip(accuracy, baseline=Cell(0.25, np.nan, np.nan, np.nan, 100), control=Runs(0.2, 0.1, 0.3, 3))
    # 0 lies at 6 and 100% at 194.
    assert 'cx="147.0" cy="9.0" r="4" class="dot"' in drawn
    assert 'd="M137.6 9H156.4" class="ends"' in drawn
    assert 'd="M53.0 2.5v13" class="offset"' in drawn
    assert 'd="M24.8 9H62.4" class="range"' in drawn
    assert "spread" not in drawn
    assert 'class="ends"' not in strip(Cell(0.5, np.nan, np.nan, np.nan, 9))


def test_the_papers_table_stands_beside_for_its_model_only():
    inputs = mock_inputs.section_4(2, 3, is_bert_base=True)
    rows = Tables(section(inputs)).found["table-1-paper"]
    assert rows[0] == ["", "measured here", "paper, Wall Street Journal"]
    told = {row[0]: row for row in rows[2:]}
    assert set(told) == {"all words", "det", "nsubj", "amod", "advmod", "aux", "ccomp", "mark"}
    assert told["det"][5:] == ["8-11", "94.3", "51.7 (+1)"]
    assert told["ccomp"][5:] == ["8-1", "48.8", "12.4 (−2)"]
    assert told["det"][2] == "83.9"
    assert "table-1-paper" not in Tables(section(with_parts(inputs, is_bert_base=False))).found


def test_shuffled_words_have_a_column_of_their_own():
    inputs = with_treebank(mock_inputs.encoder(2, 3), shuffled=True)
    table = Tables(section(inputs)).found["table-1"]
    place = table[0].index("shuffled words")
    (obj,) = [row for row in table if row[0].startswith("obj")]
    assert obj[place] == "30.1"


def treebank_line(manifest):
    """The caption on the treebank; empty where there is none."""
    blocks = PAGE.filled(with_parts(mock_inputs.section_4(1, 1), manifest=manifest)).each(CaptionBlock)
    return next((block.text for block in blocks if block.text.startswith("Read")), "")


def test_what_was_read_is_said_and_missing_keys_are_not():
    told = mock_inputs.section_4(1, 1).manifest
    assert treebank_line(told) == (
        "Read 40 documents, 2,001 sentences and 25,149 words of en_ewt-ud-dev.conllu; 8.0% of the words split into "
        "pieces, their attention averaged; 3 words without a piece, never right; 2 sentences skipped (longer than 512 "
        "tokens: 2); sub-types folded into their relation."
    )
    assert treebank_line({**told, "treebank": {"sentences": 1}}) == "Read 1 sentence."
    by_reason = {"sentences": 9, "words_merged": 1, "skipped": {"no tree": 2, "too long": 1}, "folded": False}
    assert treebank_line({**told, "treebank": by_reason}) == (
        "Read 9 sentences; 1 word merged with a neighbor by the tokenizer; 3 sentences skipped (no tree: 2; too "
        "long: 1); sub-types kept."
    )
    assert treebank_line({**told, "treebank": {}}) == ""
    assert treebank_line({name: part for name, part in told.items() if name != "treebank"}) == ""


def test_a_run_without_a_treebank_has_no_section():
    inputs = mock_inputs.encoder(1, 1)
    assert section(inputs) is None
    assert ARCS.sections(about(inputs)) == []
    assert figure_examples(inputs) is None


def test_a_treebank_too_small_says_so(inputs):
    names = ("syntax", "syntax_best", "syntax_baselines", "syntax_by_distance", "syntax_noop")
    empty = with_parts(inputs, **{name: inputs.tables.get(name).iloc[:0] for name in names})
    page = Tables(section(empty))
    assert (
        "Which head finds a relation was not tested: no relation of this treebank has the 100 cases that are needed."
        in page.text
    )
    assert page.found == {}


def test_two_kinds_name_their_heads():
    inputs = mock_inputs.two_kinds()
    page = Tables(section(inputs))
    assert {"table-heat-encoder", "table-heat-decoder"} <= set(page.found)
    assert all(row[1].startswith("encoder ") for row in page.found["table-1"][1:] if len(row) > 1)


def test_hostile_relations_are_short_text():
    inputs = mock_inputs.hostile_section_4()
    written = section(inputs)
    assert "<script" not in written
    assert "<img" not in written
    assert "</script><script>aler…" in Tables(written).text
    assert "x" * 40 not in Tables(written).text


@pytest.mark.parametrize(
    ("relation", "words"),
    [("obj", "the verb of a direct object (obj)"), ("aux", "the verb of an auxiliary (aux)"),
     ("acl:relcl", "the noun of a relative clause (acl:relcl)"),
     ("nsubj:outer", "the predicate of a subject (nsubj:outer)"),
     ("zzz", "the head word of a word marked zzz")],
)  # fmt: skip
def test_what_is_found_in_words(relation, words):
    assert found_words(relation) == words


def test_examples_stand_in_the_order_of_table_1_with_coreference_among_the_open_ones(inputs):
    names = [group.relation for group in groups_of(inputs)]
    order = [one.name for one in relations_of(inputs)]
    assert names.index("coreference") == 7
    others = [name for name in names if name != "coreference"]
    assert others == [name for name in order if name in others]
    assert [row["outcome"] for row in groups_of(inputs)[0].rows] == ["right", "right", "wrong"]
    rows, titles = figure_examples(inputs)
    assert list(dict.fromkeys(rows["relation"])) == names[:8]
    assert titles["obj"] == "Head 3-1 · obj, direct object"


def test_drawings_hold_their_words_lines_and_switch(inputs):
    written = only(ARCS.sections(about(inputs)))
    drawings = re.findall(r'<svg class="arcs[^>]*>.*?</svg>', written, re.DOTALL)
    assert len(drawings) == len(arc_examples(inputs))
    first = drawings[0]
    row = groups_of(inputs)[0].rows[0]
    shown = re.findall(r"<text[^>]*>([^<]*)", first)
    assert shown == 2 * list(row["tokens"])
    # Colored on the left are the queries, on the right the keys.
    colored = re.findall(r'<text[^>]*class="on"[^>]*>([^<]*)', first)
    queries, keys = ([row["tokens"][place] for place in sorted(set(row[side]))] for side in ("queries", "keys"))
    assert colored == [*queries, *keys]
    assert first.count('class="special"') == 4
    assert '<input type="checkbox" id="hide-special">' in written
    assert "Hide [CLS] and [SEP]" in Tables(written).text
    assert "The direct object attends to its verb." in Tables(written).text
    assert '<path d="' in first
    assert '"missed"' not in first
    assert '"missed"' in drawings[2]
    assert "<summary>12 more relations</summary>" in written


def test_a_model_without_special_tokens_has_no_switch():
    inputs = with_treebank(mock_inputs.decoder(2, 2), special=(None, None))
    written = only(ARCS.sections(about(inputs)))
    assert "hide-special" not in written
    assert 'class="special"' not in written


def test_lists_read_from_parquet_are_as_good(tmp_path, inputs):
    inputs = with_parts(inputs, syntax_examples=inputs.tables.get("syntax_examples").iloc[:6], coref_examples=None)
    inputs.tables.get("syntax_examples").to_parquet(tmp_path / "arcs.parquet")
    read = with_parts(inputs, syntax_examples=pd.read_parquet(tmp_path / "arcs.parquet"))
    assert ARCS.sections(about(read)) == ARCS.sections(about(inputs)) != []
