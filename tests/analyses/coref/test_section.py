"""Coreference in the page: table 2 and GAP as the frames have them, what was lost, and what is missing."""

import html
import re

import pytest

from headscope.analyses.coref.facts import PARTS
from headscope.analyses.coref.results import SYSTEMS
from headscope.reporting.story import findings
from support import mock_inputs
from support.measured import about, only, with_parts
from support.page_tables import Tables

TYPES = ("all", "pronoun", "proper", "nominal")


def section(inputs):
    return only(PARTS.sections(about(inputs, found=findings(inputs))))


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
    assert [cell.removesuffix("050100%") for cell in rows[0]] == [
        "system", "All mentions, n 2,310", "Pronouns, n 1,320", "Proper names, n 380", "Nominals, n 610", "q",
    ]  # fmt: skip
    table = inputs.tables.get("coref")
    for selection, line in (("held-out", rows[1]), ("same-data", rows[2])):
        own = table[(table["model"] == "trained") & (table["selection"] == selection)].set_index("mention_type")
        assert line[1:5] == [shown(own.loc[name]) for name in TYPES]
    assert rows[1][0] == (
        "Head 4-7, held outchosen in 93% of halves; held-out accuracy of the selection 64.8% (62.5 to 67.1); "
        "on all documents 65.8% (63.5 to 68.1)"
    )
    assert rows[2][0] == "Head 4-7, same documentsthe paper’s way"
    assert [line[5] for line in rows[1:]] == ["not tested", *["–"] * 6]
    baselines = table[table["model"] == "baseline"]
    for line in rows[3:7]:
        (system,) = [name for name, words in SYSTEMS.items() if words == line[0]]
        own = baselines[baselines["system"] == system].set_index("mention_type")
        assert line[1:5] == [shown(own.loc[name]) for name in TYPES]
    control = table[table["model"] == "control"].groupby("mention_type")["accuracy"]
    means, low, high = control.mean(), control.min(), control.max()
    assert rows[7][1:5] == [f"{100 * means[t]:.1f} {100 * low[t]:.1f}–{100 * high[t]:.1f}" for t in TYPES]
    assert len(rows) == 8


def test_the_papers_table_stands_below_for_its_model_only(inputs):
    rows = Tables(section(with_parts(inputs, is_bert_base=True))).found["table-2"]
    at = [row[0] for row in rows].index("In the paper, on OntoNotes")
    told = {row[0]: row[1:] for row in rows[at + 1 :]}
    assert told["Head 5-4"] == ["65", "64", "73", "58", "–"]
    assert told["Neural coreference"] == ["83", "–", "–", "–", "–"]


def test_the_best_heads_are_those_of_the_table(inputs, tables):
    heads = inputs.tables.get("coref_heads")
    best = heads[heads["mention_type"] == "all"].nlargest(10, "accuracy")
    rows = tables["table-coreference-heads"][2:]
    assert [row[0] for row in rows] == [f"{a}-{b}" for a, b in zip(best["layer"], best["head"])]
    assert rows[0][1].startswith(f"{100 * best.iloc[0]['accuracy']:.1f}")


def test_gap_by_gender_is_the_frame(inputs, tables):
    rows = tables["table-gap"]
    assert rows[1] == ["system", "all", "masculine", "feminine", "all", "masculine", "feminine"]
    assert rows[2][0] == "Head 4-7, held out"
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


def caption_of(inputs, **changed):
    """The caption on what was read, of a run with these numbers in its manifest."""
    facts = {"coreference": {**inputs.manifest["coreference"], **changed}}
    written = section(with_parts(inputs, manifest={**inputs.manifest, **facts}))
    captions = re.findall(r'<p class="caption">(.*?)</p>', written)
    (caption,) = [each for each in captions if each.startswith("Read ")]
    return html.unescape(caption)


def test_what_was_lost_is_said():
    inputs = mock_inputs.section_4(1, 1)
    read = (
        "Read 40 documents, 1,630 windows and 5,120 mentions of litbank; 2,310 mentions have an antecedent in their "
        "window and count. "
    )
    left_out = "Left out: 1,404 mentions (antecedent outside its window: 1,311; cut by a window's end: 93). "
    rule = (
        "Head words of mentions come from a rule, as there are no trees. The rule agrees with trees for 94.3% of 4,800"
    )
    assert caption_of(inputs) == f"{read}{left_out}{rule} mentions."
    named = [f"a.conllu, line {n}: e{n}) closes a mention that is not open" for n in range(1, 6)]
    spoilt = caption_of(inputs, lost=0, unmatched_brackets=12, unmatched_named=named, head_rule={"from": "trees"})
    assert spoilt == (
        f"{read}In the corpus, 12 brackets of mentions match no other, and those mentions were left out: "
        f"{'; '.join(named[:3])}; and 9 more. Head words of mentions come from the trees."
    )


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
    assert re.search(r'<a href="#encoder-2-1" class="head">Head encoder 2-1, held out</a>', written)
