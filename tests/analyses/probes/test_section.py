"""Probes in the page: tables read back and compared with the frames, sentences with their support, what is missing."""

import pytest

from headscope.analyses.probes.facts import PAGE, PARTS
from headscope.analyses.probes.page_rows import probe_lines
from headscope.analyses.probes.tables import SYSTEMS
from headscope.present.paper_table import paper_numbers
from headscope.scans.prepare.run_corpora import overlap_facts
from support import mock_inputs
from support.measured import about, only, with_parts
from support.mock_probes import RELATIONS, SCORES, VECTORS, probe_facts, with_probes
from support.page_tables import Tables

pytestmark = pytest.mark.slow


def built(inputs):
    return only(PAGE.sections(about(inputs, found=PAGE.findings(about(inputs)))))


def without_figures(inputs):
    """The run with table 3 alone: drawings take most of the time."""
    return with_parts(inputs, probe_relations=None, probe_by_distance=None, probe_weights=None, probe_layers=None)


@pytest.fixture(scope="module")
def inputs():
    return with_probes(mock_inputs.encoder())


@pytest.fixture(scope="module")
def markup(inputs):
    return built(inputs)


@pytest.fixture(scope="module")
def tables(markup):
    return Tables(markup).found


def mean(inputs, probe, model, measure):
    table = inputs.tables.get("probes")
    rows = table[
        (table["probe"] == probe) & (table["model"] == model) & (table["measure"] == measure) & table["seed"].isna()
    ]
    return rows.iloc[0] if len(rows) else None


def with_ends(row):
    to = " to " if row["ci_low"] < 0 else "–"
    shown = f"{100 * row['value']:.1f}{100 * row['ci_low']:.1f}{to}{100 * row['ci_high']:.1f}"
    return shown.replace("-", "−")


def test_table_3_is_the_frame(inputs, tables):
    rows = tables["table-3"]
    assert [cell for cell in rows[0] if cell != "050100%"] == [
        *("probe", "heads found", "seeds", "as a tree", "with label", "control task", "selectivity", "n")
    ]
    body = [row for row in rows[1:] if len(row) > 1]
    # The structural probe's arcs have no direction, and stand apart.
    assert [row[0] for row in rows[1:] if len(row) == 1] == ["Arcs without their direction, from words’ vectors"]
    order = [key for key in SYSTEMS if key[0] != "structural"] + [("structural", "trained")]
    assert len(body) == len(order)
    for row, key in zip(body, order):
        system = SYSTEMS[key]
        told = mean(inputs, *key, system.measure)
        measure = " (UUAS)" if key[0] == "structural" else ""
        assert row[0] == system.name + measure + (told["vectors"] if isinstance(told["vectors"], str) else "")
        assert row[2] == with_ends(told) + ("" if key[0] == "right-branching" else " ± 0.4")
        assert row[3] == ("–" if key[0] == "right-branching" else "3")
        for cell, measure in zip(row[4:8], ("UAS tree", "LAS", "control accuracy", "selectivity")):
            more = mean(inputs, *key, measure)
            # The spread over seeds follows the interval over documents.
            assert cell == ("–" if more is None else f"{with_ends(more)} ± {100 * more['spread']:.1f}")
        assert row[8] == f"{told['n_cases']:,}"


def test_the_papers_column_stands_beside_the_papers_model_only(inputs, markup):
    assert "In the paper" not in markup
    own = with_parts(without_figures(inputs), is_bert_base=True)
    rows = Tables(built(own)).found["table-3"]
    assert rows[0][-1] == "paper"
    printed = {row[0]: row[-1] for row in rows[1:] if len(row) > 1}
    table = paper_numbers()["table3"]
    for system in SYSTEMS.values():
        title = f"{system.name} (UUAS)" if system.measure == "UUAS" else system.name
        (name,) = [name for name in printed if name.removesuffix(VECTORS).removesuffix("layer 3") == title]
        assert printed[name] == (str(table[system.paper]) if system.paper else "–")


def test_relations_and_distances_are_the_frames(inputs, tables):
    for name, frame, column in (
        ("table-probe-relations", inputs.tables.get("probe_relations"), "relation"),
        ("table-probe-distances", inputs.tables.get("probe_by_distance"), "distance"),
    ):
        _, header, *body = tables[name]
        keys = [key for key in SYSTEMS if key[0] != "structural"]
        assert header[2:] == [f"{SYSTEMS[key].name}, %" for key in keys]
        assert [row[0] for row in body] == list(dict.fromkeys(frame[column]))
        for row in body:
            for cell, (probe, model) in zip(row[2:], keys, strict=True):
                one = frame[(frame["probe"] == probe) & (frame["model"] == model) & (frame[column] == row[0])].iloc[0]
                assert cell == with_ends(one)
                assert row[1] == f"{one['n_cases']:,}"


def test_the_largest_weights_whatever_their_sign(inputs, tables):
    rows = tables["table-probe-weights"][1:]
    assert [row[0] for row in rows if len(row) == 1] == ["Attention", "Attention and words"]
    own = inputs.tables.get("probe_weights")[inputs.tables.get("probe_weights")["probe"] == "attention"]
    largest = own.loc[own["weight"].abs().sort_values(ascending=False).index[:20]]
    shown = [row for row in rows if len(row) == 3][:20]
    assert [row[0] for row in shown] == [f"{r['layer']}-{r['head']}" for r in largest.to_dict("records")]
    assert [float(row[2].replace("−", "-")) for row in shown] == pytest.approx(largest["weight"].tolist(), rel=6e-3)
    assert {row[1] for row in shown} == {"dependent → head word", "head word → dependent"}


def test_the_layers_are_the_frame(inputs, tables):
    body = tables["table-probe-layers"][2:]
    frame = inputs.tables.get("probe_layers")
    assert [row[0] for row in body] == ["0, embeddings", *map(str, range(1, len(body)))]
    for layer, row in enumerate(body):
        uuas, spearman = (
            frame[(frame["layer"] == layer) & (frame["measure"] == m)].iloc[0] for m in ("UUAS", "Spearman")
        )
        assert row[1] == ("chosen" if layer == 3 else "")
        assert row[2:6] == [
            f"{100 * uuas['value']:.1f}",
            f"{100 * uuas['ci_low']:.1f}–{100 * uuas['ci_high']:.1f}",
            f"{100 * uuas['held_out']:.1f}",
            f"{uuas['n_cases']:,}",
        ]
        assert row[6:8] == [f"{spearman['value']:.3f}", f"{spearman['ci_low']:.3f}–{spearman['ci_high']:.3f}"]


def sentences(inputs, topic):
    return [one.text for one in PAGE.findings(about(inputs)) if one.topic == topic]


def test_sentences(inputs):
    assert sentences(inputs, "probes") == [
        "A parser over attention and its words’ vectors finds the head word of 70.1% (95% interval 69.0 to 71.2) of "
        "20,137 words.",
        "A parser over attention alone finds 55.2% (54.1 to 56.3).",
        "Words and their distance, without attention, find 58.8% (57.7 to 59.9).",
        "A parser on random weights finds 35.2% (34.1 to 36.3).",
        "Always choosing the next word finds 27.4% (26.3 to 28.5).",
    ]
    assert sentences(inputs, "probes_detail") == [
        "Gain of attention over words and distances: +11.3 points (10.5 to 12.1).",
        "Gain of training over attention with random weights: +27.1 points (26.3 to 27.9).",
        "Distances and words: selectivity −22.2 points (−23.3 to −21.1), not more than it can memorize.",
        "Distances and words: the control task has 81.0% (79.9 to 82.1).",
        "Attention: selectivity 12.2 points (11.1 to 13.3), more than it can memorize.",
        "Attention: the control task has 43.0% (41.9 to 44.1).",
        "Attention and words: selectivity −3.9 points (−5.0 to −2.8), not more than it can memorize.",
        "Attention and words: the control task has 74.0% (72.9 to 75.1).",
        "Attention and words: as a whole tree (Chu–Liu/Edmonds) it finds 70.9% (69.8 to 72.0).",
        "Attention and words: with the right label it finds 63.4% (62.3 to 64.5).",
    ]
    assert sentences(inputs, "probes_layers") == [
        "Words’ vectors of layer 3 hold 73.4% (72.3 to 74.5) of 20,137 undirected arcs.",
        "Layer 3 was selected on held-out sentences of train.",
        "Distances of these vectors correlate with the tree’s at 0.76 (0.75 to 0.77).",
        "The embeddings alone hold 64.0% (63.0 to 65.0): +9.0 points (8.4 to 9.6) between them.",
    ]
    own = inputs.tables.get("probe_weights")[inputs.tables.get("probe_weights")["probe"] == "attention"].sort_values(
        "weight", ascending=False
    )
    heads = list(dict.fromkeys(zip(own["layer"], own["head"])))[:3]
    named = [f"{layer}-{head}" for layer, head in heads]
    assert sentences(inputs, "probes_weights") == [
        f"The parser over attention alone gives the most weight to {named[0]}, {named[1]} and {named[2]}.",
        "Heads that attend alike share the weight, so a single weight is not a score.",
    ]


def test_nothing_is_claimed_without_intervals(inputs):
    few = with_probes(mock_inputs.encoder(), documents=3)
    text = " ".join(one.text for one in PAGE.findings(about(few)))
    assert "not tested: that needs at least 10 documents" in text
    assert "Attention: selectivity 12.2 points, not tested: that needs at least 10 documents." in text
    assert "not shown" not in text
    assert "The embeddings alone" not in text
    assert "95% interval" not in text


def test_worse_is_told_too():
    turned = [
        (probe, model, vectors, {**measures, "UAS": 0.3} if probe == "attention and words" else measures)
        for probe, model, vectors, measures in SCORES
    ]
    inputs = with_probes(mock_inputs.encoder(), scores=turned)
    assert sentences(inputs, "probes_detail")[0] == (
        "Gain of attention over words and distances: −28.8 points (−29.6 to −28.0), which is a loss."
    )


def test_a_difference_that_is_not_sure_is_bounded():
    near = [
        (probe, model, vectors, {**measures, "UAS": 0.592} if probe == "attention and words" else measures)
        for probe, model, vectors, measures in SCORES
    ]
    inputs = with_probes(mock_inputs.encoder(), scores=near)
    assert sentences(inputs, "probes_detail")[0] == (
        "Gain of attention over words and distances: no difference larger than 1.2 points (+0.4 points (−0.4 to 1.2))."
    )


def test_lines_without_their_mean_are_left_out(inputs):
    table = inputs.tables.get("probes")
    assert len(probe_lines(table)) == 7
    assert probe_lines(None) == {}
    assert probe_lines(table[table["seed"].notna()]) == {}
    lines = probe_lines(table)
    assert len(lines["right-branching", "trained"].values) == 0
    assert len(lines["attention", "trained"].values) == 3
    assert lines["attention and words", "trained"].vectors == VECTORS


def test_what_was_trained_on_and_measured_is_said_in_the_caption(inputs):
    shared = overlap_facts([("Yes", "."), ("He", "came")], [("Yes", "."), ("She", "left", "us", ".")], [])
    none = overlap_facts([], [("Yes", ".")], [])
    for facts, said in (
        (shared, "1 of the measured sentences (50.0%, 33.3% of the words) is in train too, word for word."),
        (none, "No measured sentence is in train."),
    ):
        told = {"probes": {**probe_facts(), "overlap": facts}}
        page = built(with_parts(without_figures(inputs), manifest={**inputs.manifest, **told}))
        assert (
            '<p class="caption">Trained on 12,539 sentences of train.conllu, scored on 2,001 sentences of dev.conllu. '
            f"Word vectors: input embeddings of tiny. {said}</p>"
        ) in page


def test_a_run_without_probes_has_no_section():
    assert built(mock_inputs.encoder()) is None
    assert PAGE.findings(about(mock_inputs.encoder())) == []


def test_what_is_missing_is_left_out(inputs):
    found = Tables(built(without_figures(inputs))).found
    assert list(found) == ["table-3"]


def test_hostile_names_stay_text(inputs):
    probes = inputs.tables.get("probes").copy()
    probes["vectors"] = probes["vectors"].where(probes["vectors"].isna(), "<script>alert(1)</script>")
    relations = inputs.tables.get("probe_relations").replace({"relation": {RELATIONS[0]: "<img src=x>"}})
    markup = built(with_parts(without_figures(inputs), probes=probes, probe_relations=relations))
    assert "<script" not in markup
    assert "<img" not in markup


def test_figures_have_these_files(inputs):
    stems = {name for figure in PARTS.figures for name in figure.drawings(about(inputs))}
    expected = ["probe-scores", "probe-distances", "probe-weights", "probe-weights-attention-and-words"]
    assert stems == {*expected, "probe-layers"}
    bare = about(mock_inputs.encoder())
    assert [figure.drawings(bare) for figure in PARTS.figures] == [{}] * len(PARTS.figures)


def test_several_kinds_each_have_their_grid():
    inputs = with_parts(with_probes(mock_inputs.t5()), probe_by_distance=None, probe_layers=None)
    markup = built(inputs)
    for kind in ("encoder", "decoder"):
        assert f"Attention, {kind}" in markup
    assert "Attention, cross" not in markup
    text = sentences_of(inputs)
    assert "encoder " in text or "decoder " in text


def sentences_of(inputs):
    return " ".join(sentences(inputs, "probes_weights"))


def test_the_grids_open_cards(markup):
    for place in ("1-1", "2-3"):
        assert f'data-head="{place}"' in markup
