"""Coreference in the page: table 2 and GAP as the frames have them, what was lost, and what is missing."""

import re

import pytest

from headscope.analyses.coref.findings import lost
from headscope.analyses.coref.section import SYSTEM_NAMES, coreference_section
from headscope.reporting.every_finding import findings
from support import mock_inputs
from support.measured import about, only, with_parts
from support.page_tables import Tables

TYPES = ("all", "pronoun", "proper", "nominal")


def section(inputs):
    return only(coreference_section(about(inputs, found=findings(inputs))))


@pytest.fixture(scope="module")
def inputs():
    return mock_inputs.section_4(6, 12)


@pytest.fixture(scope="module")
def tables(inputs):
    return Tables(section(inputs)).found


def shown(row):
    return f"{100 * row['accuracy']:.1f} {100 * row['ci_low']:.1f}–{100 * row['ci_high']:.1f}"


def test_table_2_is_the_frame(inputs, tables):
    rows = tables["table-2"]
    assert [cell[: cell.index("n ")] for cell in rows[0][1:]] == [
        "All mentions",
        "Pronouns",
        "Proper names",
        "Nominals",
    ]
    assert "n 2,310" in rows[0][1]
    table = inputs.tables.get("coref")
    for selection, line in (("held-out", rows[1]), ("same-data", rows[2])):
        own = table[(table["model"] == "trained") & (table["selection"] == selection)].set_index("mention_type")
        assert line[1:] == [shown(own.loc[name]) for name in TYPES]
    assert rows[1][0] == (
        "Head 4-7held-out, chosen in 93% of halves; the choice is worth 64.8% (62.5 to 67.1); on all documents 65.8% "
        "(63.5 to 68.1)"
    )
    assert rows[2][0] == "Head 4-7the paper’s way: same documents"
    baselines = table[table["model"] == "baseline"]
    for line in rows[3:7]:
        (system,) = [name for name, words in SYSTEM_NAMES.items() if words == line[0]]
        own = baselines[baselines["system"] == system].set_index("mention_type")
        assert line[1:] == [shown(own.loc[name]) for name in TYPES]
    control = table[table["model"] == "control"].groupby("mention_type")["accuracy"]
    means, low, high = control.mean(), control.min(), control.max()
    assert rows[7][1:] == [f"{100 * means[t]:.1f} {100 * low[t]:.1f}–{100 * high[t]:.1f}" for t in TYPES]
    assert len(rows) == 8


def test_another_head_for_one_type_is_named_in_its_cell(inputs):
    table = inputs.tables.get("coref").copy()
    one = (table["selection"] == "held-out") & (table["model"] == "trained") & (table["mention_type"] == "proper")
    table.loc[one, ["layer", "head"]] = [5, 2]
    rows = Tables(section(with_parts(inputs, coref=table))).found["table-2"]
    assert rows[1][3].endswith("head 5-2")
    assert "head" not in rows[1][2]


def test_the_papers_table_stands_below_for_its_model_only(inputs):
    rows = Tables(section(with_parts(inputs, is_bert_base=True))).found["table-2"]
    at = [row[0] for row in rows].index("In the paper, on OntoNotes")
    told = {row[0]: row[1:] for row in rows[at + 1 :]}
    assert told["Head 5-4"] == ["65", "64", "73", "58"]
    assert told["Neural coreference"] == ["83", "–", "–", "–"]


def test_the_best_heads_are_those_of_the_table(inputs, tables):
    heads = inputs.tables.get("coref_heads")
    best = heads[heads["mention_type"] == "all"].nlargest(10, "accuracy")
    rows = tables["table-coreference-heads"][1:]
    assert [row[0] for row in rows] == [f"{a}-{b}" for a, b in zip(best["layer"], best["head"])]
    assert rows[0][1].startswith(f"{100 * best.iloc[0]['accuracy']:.1f}")


def test_gap_by_gender_is_the_frame(inputs, tables):
    rows = tables["table-gap"]
    assert rows[1] == ["system", "all", "masculine", "feminine", "all", "masculine", "feminine"]
    assert rows[2][0] == "Head 4-7held-out"
    gap = inputs.tables.get("gap")[inputs.tables.get("gap")["system"] == "nearest"].set_index(["measure", "gender"])
    (line,) = [row for row in rows if row[0] == "Nearest candidate"]
    for place, (measure, gender) in enumerate(
        (m, g) for m in ("accuracy", "f1") for g in ("all", "masculine", "feminine")
    ):
        told = gap.loc[(measure, gender)]
        assert line[1 + place] == (f"{100 * told['value']:.1f}{100 * told['ci_low']:.1f}–{100 * told['ci_high']:.1f}")


def test_gap_alone_has_a_section_and_nothing_has_none(inputs):
    alone = with_parts(inputs, coref=None, coref_heads=None, manifest={**inputs.manifest, "coreference": None})
    assert set(Tables(section(alone)).found) == {"table-gap"}
    assert section(with_parts(alone, gap=None)) is None
    assert "table-gap" not in Tables(section(with_parts(inputs, gap=None))).found


def test_what_was_lost_is_said():
    manifest = mock_inputs.section_4(1, 1).manifest
    assert list(lost(manifest)) == [
        "Read 40 documents, 1,630 windows and 5,120 mentions of litbank; 2,310 mentions have an antecedent in their "
        "window and count.",
        "Left out: 1,404 mentions (antecedent outside its window: 1,311; cut by a window's end: 93).",
        "Head words of mentions come from a rule, as there are no trees.",
        "On trees the rule agrees in 94.3% of 4,800 mentions.",
    ]
    named = [f"a.conllu, line {n}: e{n}) closes a mention that is not open" for n in range(1, 6)]
    spoilt = {"coreference": {"unmatched_brackets": 12, "unmatched_named": named}}
    assert list(lost(spoilt)) == [
        "Of the corpus 12 brackets of mentions match no other, and those mentions were left out: "
        f"{'; '.join(named[:3])}; and 9 more."
    ]
    assert list(lost({"coreference": {"unmatched_brackets": 0, "unmatched_named": []}})) == []
    rule = {"coreference": {"head_rule": {"from": "trees", "n_mentions": 20, "agreement": None}}}
    assert list(lost(rule)) == ["Head words of mentions come from the trees."]
    assert list(lost({})) == []


def test_an_empty_table_says_that_no_head_was_chosen(inputs):
    empty = with_parts(inputs, coref=inputs.tables.get("coref").iloc[:0], coref_heads=None, gap=None)
    page = Tables(section(empty))
    assert "Which head finds antecedents was not tested: it is selected and scored on different" in page.text
    assert page.found == {}


def test_few_documents_draw_no_interval():
    written = section(mock_inputs.section_4(2, 3, documents=4))
    assert 'class="ends"' not in written
    assert "–" not in "".join(Tables(written).found["table-2"][1][1:])


def test_hostile_names_are_text():
    written = section(mock_inputs.hostile_section_4())
    assert "<script" not in written
    assert "</script><script>alert(6)</script>" in Tables(written).text


def test_two_kinds_name_the_kind_of_each_head():
    inputs = mock_inputs.two_kinds()
    written = section(inputs)
    assert re.search(r'Head <a href="#encoder-2-1" class="head">encoder 2-1</a>', written)
