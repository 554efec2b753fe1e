"""The page as a file: every table read back and compared with the frame, the paper's column, files on disk."""

import base64
import json
import re

import numpy as np
import pandas as pd
import pytest

from headscope.analyses.for_report import drawings_of
from headscope.analyses.stats.facts import PAGE
from headscope.present.kinds import kinds_of
from headscope.present.words import words_for
from headscope.reporting.report_page import render_report, write_report
from headscope.reporting.story import findings, headline
from headscope.statistics.statistic_catalog import is_share, of_topic
from headscope.views.quantize import read_weights
from headscope.visible import short_name
from support import mock_inputs
from support.measured import about, blank_figures, with_parts
from support.mock_distances import with_distances
from support.mock_distribution import with_distribution
from support.mock_importance import with_importance
from support.mock_probes import with_probes
from support.mock_whole import whole
from support.page_tables import Tables

pytestmark = pytest.mark.slow


def block(markup, name):
    (found,) = re.findall(rf'<script type="application/json" id="{name}">(.*?)</script>', markup)
    return json.loads(found)


@pytest.fixture(scope="module")
def encoder():
    inputs = mock_inputs.encoder(3, 4)
    return inputs, render_report(inputs)


@pytest.fixture(scope="module")
def three_kinds():
    inputs = mock_inputs.t5()
    return inputs, render_report(inputs)


def test_heads_by_any_two_measures_stand_with_all_heads_whatever_was_measured(encoder):
    inputs, markup = encoder
    with blank_figures():
        other = render_report(with_distribution(inputs))
    for page in (markup, other):
        (part,) = re.findall(r'<section id="section-heads">(.*?)</section>', page, flags=re.DOTALL)
        assert part.count('id="head-scatter"') == page.count('id="head-scatter"') == 1


SECTIONS = {name: of_topic(name) for name in ("position", "special", "noop", "focus")}


@pytest.mark.parametrize("which", ["encoder", "three_kinds"])
def test_layer_tables_are_the_frames(which, request):
    inputs, markup = request.getfixturevalue(which)
    tables = Tables(markup).found
    seen = 0
    for kind in kinds_of(inputs):
        for section, statistics in SECTIONS.items():
            means = inputs.stats[(inputs.stats["kind"] == kind.name) & inputs.stats["head"].isna()]
            present = [s for s in statistics if means[means["statistic"] == s]["value"].notna().any()]
            name = f"table-{section}-{kind.name}"
            assert (name in tables) == bool(present)
            if not present:
                continue
            rows = tables[name][2:]
            assert [row[0] for row in rows] == [str(layer) for layer in range(1, kind.layers + 1)]
            for row in rows:
                for place, statistic in enumerate(present):
                    here = means[(means["statistic"] == statistic) & (means["layer"] == int(row[0]))].iloc[0]
                    value, ends, uniform, n = row[1 + 4 * place : 5 + 4 * place]
                    share = is_share(statistic)
                    scale, step = (100, 0.05) if share else (1, 0.005)
                    assert float(value) == pytest.approx(scale * here["value"], abs=step + 1e-9)
                    low, high = (float(end) for end in ends.split("–"))
                    assert low == pytest.approx(scale * here["ci_low"], abs=step + 1e-9)
                    assert high == pytest.approx(scale * here["ci_high"], abs=step + 1e-9)
                    assert float(uniform) == pytest.approx(scale * here["uniform"], abs=step + 1e-9)
                    assert int(n) == here["n_inputs"]
                    seen += 1
    assert seen >= 30


@pytest.mark.parametrize("which", ["encoder", "three_kinds"])
def test_data_block_is_the_frame(which, request):
    inputs, markup = request.getfixturevalue(which)
    data = block(markup, "data")
    seen = 0
    for entry in data["kinds"]:
        heads = inputs.stats[(inputs.stats["kind"] == entry["kind"]) & inputs.stats["head"].notna()]
        for _, row in heads.iterrows():
            index = (row["layer"] - 1) * entry["heads"] + row["head"] - 1
            columns = entry["values"].get(row["statistic"])
            if columns is None:
                assert np.isnan(row["value"])
                continue
            for name, key in (
                ("value", "value"),
                ("low", "ci_low"),
                ("high", "ci_high"),
                ("uniform", "uniform"),
                ("n", "n_inputs"),
            ):
                told = columns[name]
                told = told[index] if isinstance(told, list) else told
                assert told == pytest.approx(row[key], abs=1e-6)
                seen += 1
        for _, row in inputs.roles[inputs.roles["kind"] == entry["kind"]].iterrows():
            index = (row["layer"] - 1) * entry["heads"] + row["head"] - 1
            assert data["roles"][entry["roles"][index]]["name"] == row["role"]
    assert seen > 500


def test_maps_block_is_the_examples(three_kinds):
    inputs, markup = three_kinds
    maps = block(markup, "maps")
    shared = inputs.examples[inputs.examples["behavior"] == "shared"]
    for _, row in shared.iterrows():
        told = maps[row["kind"]]
        index = (row["layer"] - 1) * 4 + row["head"] - 1
        (sentence,) = told["sentences"]
        assert [token[-1] for token in sentence["queries"]] == list(row["tokens"])
        assert [key[-1] for key in sentence["keys"]] == list(row["keys"])
        weights = np.reshape(row["weights"], (len(row["tokens"]), len(row["keys"])))
        back = read_weights(base64.b64decode(sentence["bytes"][index]), weights.shape)
        assert np.abs(np.sqrt(back) - np.sqrt(weights)).max() < 0.003
    assert {kind: len(told["sentences"]) for kind, told in maps.items()} == {"encoder": 1, "decoder": 1, "cross": 1}


def test_roles_table_counts_the_roles(three_kinds):
    inputs, markup = three_kinds
    words = words_for(inputs.manifest)
    rows = Tables(markup).found["table-roles"][1:]
    told = {(row[0], row[1]): int(row[2]) for row in rows}
    counted = inputs.roles.groupby(["kind", "role"]).size()
    assert told == {
        (kind, words.roles[role][:1].upper() + words.roles[role][1:]): n for (kind, role), n in counted.items()
    }
    for row in rows:
        inside = [int(n) for n in re.findall(r"\((\d+)\)", row[3])]
        assert sum(inside) == int(row[2])


def test_examples_table_is_the_frame(encoder):
    inputs, markup = encoder
    rows = Tables(markup).found["table-examples"][1:]
    examples = inputs.examples[inputs.examples["behavior"] != "shared"]
    assert len(rows) == len(examples)
    for head, _, value, document, segment in rows:
        layer, number = (int(part) for part in head.removeprefix("Head ").split("-"))
        shown, unit = value.split()
        matching = examples[(examples["layer"] == layer) & (examples["head"] == number)]
        scale = 100 if unit == "%" else 1
        assert any(float(shown) == pytest.approx(scale * v, abs=0.051) for v in matching["value"])
        assert (document, segment) == ("d41d8cd9", "7")


def test_first_screen_says_what_was_run_and_the_headline(encoder):
    inputs, markup = encoder
    text = Tables(markup).text
    assert "What does minilm-mlm look at?" in text
    assert "12 heads in 3 layers · 200 segments from 40 documents of wiki.txt · 2026-11-21" in text
    for one in headline(findings(inputs)):
        assert one.text in text


def test_every_finding_stands_in_the_page(three_kinds):
    inputs, markup = three_kinds
    text = Tables(markup).text
    for one in findings(inputs):
        assert one.text in text


def test_no_finding_stands_twice():
    """Every section there is at once, with all that it says."""
    everything = with_distances(with_probes(with_importance(mock_inputs.section_4())))
    topics = {one.topic for one in findings(everything)}
    assert {"position", "syntax", "coreference", "probes", "importance", "distances"} <= topics
    said = [one.text for one in findings(everything)]
    assert sorted(set(said)) == sorted(said)


def test_every_head_link_and_point_has_a_head(encoder):
    _, markup = encoder
    links = set(re.findall(r'href="#encoder-(\d+-\d+)"', markup)) | set(re.findall(r'data-head="(\d+-\d+)"', markup))
    assert links == {f"{layer}-{head}" for layer in (1, 2, 3) for head in (1, 2, 3, 4)}


def test_ids_are_unique(three_kinds):
    _, markup = three_kinds
    ids = re.findall(r'\sid="([^"]*)"', re.sub(r"<script.*?</script>", "", markup, flags=re.DOTALL))
    assert len(ids) == len(set(ids))


def test_references_inside_the_drawings_resolve(encoder):
    _, markup = encoder
    ids = set(re.findall(r'\sid="([^"]*)"', markup))
    used = set(re.findall(r'xlink:href="#([^"]*)"', markup)) | set(re.findall(r"url\(#([^)]*)\)", markup))
    assert used
    assert used <= ids


def test_drawings_follow_the_scheme(encoder):
    _, markup = encoder
    drawings = "".join(re.findall(r'<svg class="figure".*?</svg>', markup, re.DOTALL))
    assert not re.search(r"(?:fill|stroke): #", drawings)
    assert "var(--ink)" in drawings
    assert "var(--line-previous)" in drawings


def test_papers_column_stands_beside_only_for_its_model():
    with blank_figures():
        other = Tables(render_report(mock_inputs.encoder(2, 2)))
        same = Tables(render_report(mock_inputs.encoder(2, 2, is_bert_base=True)))
    assert other.found["table-paper"][0] == ["finding", "paper (BERT-base)"]
    assert "This run’s model is not the paper’s." in other.text
    assert same.found["table-paper"][0] == ["finding", "measured here", "paper"]
    assert "paper (BERT-base)" not in same.text


def test_papers_numbers_beside_the_measured_ones():
    inputs = mock_inputs.encoder(12, 12, is_bert_base=True)
    (section,) = PAGE.closing(about(inputs))
    rows = {row[0]: row[1:] for row in Tables(section).found["table-paper"][1:]}
    heads = inputs.stats[inputs.stats["head"].notna() & (inputs.stats["statistic"] == "previous")]
    layers = ", ".join(str(layer) for layer in heads[heads["value"] > 0.5]["layer"])
    assert rows["Layers of heads above 50% on the previous token"] == [layers, "2, 4, 7, 8"]
    last = inputs.stats.query("statistic == 'entropy_cls' and layer == 12")
    last = last[last["head"].isna()].iloc[0]
    measured = f"{last['value']:.2f} nats ({last['ci_low']:.2f} to {last['ci_high']:.2f})"
    assert rows["Entropy from [CLS] in the last layer"] == [measured, "3.89 nats"]
    assert rows["Attention to [SEP] in layers 6 to 10"][1] == "over 50% of all attention"
    for layer in range(6, 11):
        mean = inputs.stats.query(f"statistic == 'sep' and layer == {layer}")
        value = mean[mean["head"].isna()]["value"].iloc[0]
        assert f"{100 * value:.{0 if value > 0.1 else 1}f}%" in rows["Attention to [SEP] in layers 6 to 10"][0]


def test_signature_and_counts_are_the_manifests(encoder):
    inputs, markup = encoder
    page = Tables(markup)
    told = dict(row for row in page.found["table-signature"])
    signature = inputs.manifest["signature"]
    assert told["model weights"] == signature["model"]["weights"]
    assert told["options packing"] == "pretraining"
    assert told["options max_inputs"] == "none"
    assert told["versions torch"] == "2.13.0"
    assert told["seed"] == "0"
    assert "Read 41 documents, used 40: 200 segments, 23,600 tokens." in page.text
    assert "Inputs cut at the length limit: 3. Skipped: 1 (too long: 1)." in page.text
    assert inputs.manifest["notes"][0] in page.text


@pytest.fixture(scope="module")
def hostile():
    return render_report(mock_inputs.hostile())


def test_hostile_names_and_tokens_add_no_element(hostile):
    scripts = re.findall(r"<script[^>]*>", hostile)
    assert scripts == [
        '<script type="application/json" id="data">',
        '<script type="application/json" id="maps">',
        '<script type="application/json" id="sentences">',
        '<script type="module">',
    ]
    assert "<img" not in hostile
    assert "What does </title><script>alert(3)</script> look at?" in Tables(hostile).text


def test_the_page_can_be_written_as_utf8_without_nul(hostile):
    assert b"\x00" not in hostile.encode("utf-8")


def test_a_report_is_one_file_and_names_the_command_for_figures(tmp_path):
    path = write_report(whole(mock_inputs.section_4(2, 3)), tmp_path / "run")
    assert path == tmp_path / "run" / "report.html"
    assert [one.relative_to(path.parent).as_posix() for one in path.parent.rglob("*")] == ["report.html"]
    page = path.read_text(encoding="utf-8")
    links = re.findall(r'(?:href|src)="([^"]*)"', page)
    assert links
    assert [link for link in links if not link.startswith("#")] == []
    assert "<code>headscope export FOLDER --figures one</code>" in page.split('id="group-appendix"')[1]


def test_figures_without_examples_leave_figure_1_out():
    inputs = mock_inputs.encoder(1, 2)
    inputs = with_parts(inputs, examples=inputs.examples[inputs.examples["behavior"] == "shared"])
    assert set(drawings_of(about(inputs))) == {"figure-2", "figure-4"}
    assert "This run kept no examples." in Tables(render_report(inputs)).text


def test_the_same_inputs_give_the_same_page():
    inputs = mock_inputs.encoder(2, 3)
    assert render_report(inputs) == render_report(inputs)


def test_tables_from_parquet_give_the_same_page(tmp_path):
    inputs = mock_inputs.encoder(1, 2)
    read = {}
    for name in ("stats", "roles", "examples"):
        getattr(inputs, name).to_parquet(tmp_path / f"{name}.parquet")
        read[name] = pd.read_parquet(tmp_path / f"{name}.parquet")
    assert render_report(with_parts(inputs, **read)) == render_report(inputs)


def test_few_documents_leave_intervals_empty():
    with blank_figures():
        page = Tables(render_report(mock_inputs.encoder(2, 3, documents=4)))
    assert {row[2] for row in page.found["table-position-encoder"][2:]} == {"–"}
    assert "an interval needs at least 10 documents" in page.text


@pytest.mark.parametrize(
    ("name", "short"),
    [("google-bert/bert-base-uncased", "google-bert/bert-base-uncased"), ("/home/me/models/mine/", "mine"),
     ("./out/model", "model"), ("C:\\models\\mine", "mine")],
)  # fmt: skip
def test_local_models_are_named_by_their_folder(name, short):
    assert short_name(name) == short
