"""A whole run: what is on disk is read back and compared with a plain computation over transformers' own weights."""

import json
import math
from dataclasses import replace
from itertools import islice

import numpy as np
import pandas as pd
import pytest
import torch

import headscope as hs
from headscope.analyses.stats.compute import StatsMeasurement
from headscope.corpora.reading import read_corpus
from headscope.encoding.encoder import Encoder
from headscope.encoding.line_packing import Packer
from headscope.errors import InputError, OptionError
from headscope.installing import demo_text
from headscope.models.load_model import load_model
from headscope.present.manifest import MANIFEST
from headscope.present.paper_table import is_bert_base, paper_numbers
from headscope.running.writing import write_run
from headscope.scans.declarations.analysis_list import ANALYSES
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare
from headscope.statistics.statistic_catalog import NAMES
from headscope.statistics.tables.frames import of_measure
from headscope.storage.sealed import read_sealed, write_sealed
from support.model_folders import save_tiny_bert
from support.shared_data import data

pytestmark = pytest.mark.slow


def plain_loop(texts, *, layers=6):
    """The definitions in numpy, one pair of texts at a time, over eager `output_attentions` in float64."""
    loaded = load_model(dtype="float64")
    model, tokenizer = loaded.model, loaded.tokenizer
    model.set_attn_implementation("eager")
    collected = {}
    for first, second in texts:
        inputs = tokenizer(first, second, return_tensors="pt")
        with torch.no_grad():
            out = model(**inputs, output_attentions=True)
        maps = np.stack([layer[0].numpy() for layer in out.attentions])
        tokens = tokenizer.convert_ids_to_tokens(inputs["input_ids"][0])
        n = len(tokens)
        cls, sep = [t == "[CLS]" for t in tokens], np.array([t == "[SEP]" for t in tokens])
        stops = [t in (".", ",") for t in tokens]
        row = {
            "previous": np.trace(maps, -1, 2, 3) / n,
            "next": np.trace(maps, 1, 2, 3) / n,
            "current": np.trace(maps, 0, 2, 3) / n,
            "cls": maps[..., cls].sum(-1).mean(-1),
            "sep": maps[..., sep].sum(-1).mean(-1),
            "period_comma": maps[..., stops].sum(-1).mean(-1),
            "sep_to_sep": maps[:, :, sep][..., sep].sum(-1).mean(-1),
            "other_to_sep": maps[:, :, ~sep][..., sep].sum(-1).mean(-1),
            "entropy": -(maps * np.log(maps)).sum(-1).mean(-1),
            "entropy_cls": -(maps * np.log(maps)).sum(-1)[:, :, cls].mean(-1),
            "max_weight": maps.max(-1).mean(-1),
        }
        for name, numbers in row.items():
            collected.setdefault(name, []).append(numbers)
    return {name: np.mean(numbers, axis=0) for name, numbers in collected.items()}


def pairs_of(path, number=None):
    """Lines 1 and 2, 3 and 4 ... of each document, as far as they fit in 128 tokens; the first so many."""
    return [pair for document in _documents_of(path, number) for pair in document]


def beginning(path, number, folder):
    """Write a file of the first so many pairs, in their documents."""
    documents = ["\n".join(line for pair in document for line in pair) for document in _documents_of(path, number)]
    file = folder / "beginning.txt"
    file.write_text("\n\n".join(documents))
    return file


def _documents_of(path, number):
    tokenizer = load_model().tokenizer
    documents, left = [], number
    for block in path.read_text().split("\n\n"):
        lines = [line for line in block.split("\n") if line.strip()]
        pairs = [pair for pair in zip(lines[0::2], lines[1::2]) if len(tokenizer(*pair)["input_ids"]) <= 128][:left]
        left = None if left is None else left - len(pairs)
        documents += [pairs] if pairs else []
        if left == 0:
            break
    return documents


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return beginning(demo_text(), 40, tmp_path_factory.mktemp("text"))


@pytest.fixture(scope="module")
def options(text):
    return RunOptions(text=(str(text),), packing="paragraphs", too_long="skip", stages=("stats", "norms"))


@pytest.fixture(scope="module")
def study(options, tmp_path_factory):
    """What three stages find, and no page: pages have tests of their own."""
    out = tmp_path_factory.mktemp("run") / "out"
    write_run(prepare(options), out)
    return hs.open_study(out)


def test_the_table_is_the_plain_loop_over_the_same_pairs(study):
    expected = plain_loop(pairs_of(demo_text(), 40))
    table = of_measure(pd.read_parquet(study.path / "tables" / "stats.parquet"))
    assert list(table.columns) == [
        "kind",
        "layer",
        "head",
        "measure",
        "statistic",
        "value",
        "ci_low",
        "ci_high",
        "uniform",
        "n_inputs",
    ]
    assert len(table) == 6 * 13 * len(NAMES)
    for name, numbers in expected.items():
        own = table[table.statistic == name]
        heads = own[own["head"].notna()].pivot(index="layer", columns="head", values="value").to_numpy(dtype=float)
        np.testing.assert_allclose(heads, numbers, atol=1e-5, rtol=0)
        means = own[own["head"].isna()].sort_values("layer").value.to_numpy(dtype=float)
        np.testing.assert_allclose(means, numbers.mean(1), atol=1e-5, rtol=0)
        np.testing.assert_allclose(study[name].to_numpy(), numbers, atol=1e-5, rtol=0)
        assert (own.n_inputs == 40).all()


def test_uniform_is_what_uniform_attention_gives(study):
    tokenizer = load_model().tokenizer
    lengths = [len(tokenizer(a, b)["input_ids"]) for a, b in pairs_of(demo_text(), 40)]
    expected = {
        "entropy": np.mean([math.log(n) for n in lengths]),
        "max_weight": np.mean([1 / n for n in lengths]),
        "current": np.mean([1 / n for n in lengths]),
        "previous": np.mean([(n - 1) / n / n for n in lengths]),
        "cls": np.mean([1 / n for n in lengths]),
        "sep": np.mean([2 / n for n in lengths]),
    }
    for name, value in expected.items():
        found = study.stats[study.stats.statistic == name].uniform
        assert found.to_numpy() == pytest.approx(value, abs=1e-12)


def test_intervals_are_those_of_documents(study):
    """Recomputed from the sums by document of one head."""
    from headscope.analyses.stats.sums import NormStatsAccumulator
    from headscope.statistics.inference.confidence import ratio_interval
    from headscope.storage.files import read_arrays

    arrays, about = read_arrays(study.path / "state" / "stats.safetensors")
    assert about["signature"] == study.manifest["signature"]["id"]
    sums = NormStatsAccumulator.from_state(arrays).sums.stacked()
    column = NAMES.index("cls")
    of_head, counts = sums["weight.encoder"][:, 3, 6, column], sums["n_weight.encoder"][:, column]
    assert len(of_head) == study.manifest["counts"]["documents_used"]
    own = ratio_interval(of_head, counts, scale="share")
    low, high = float(own.low), float(own.high)
    # About as wide as resampling the documents says, which reaches too little where few of them carry a tail.
    draws = np.random.default_rng(0).multinomial(len(counts), np.full(len(counts), 1 / len(counts)), size=2000)
    ends = np.percentile([(of_head * draw).sum() / (counts * draw).sum() for draw in draws], [2.5, 97.5])
    assert 0.9 < (high - low) / (ends[1] - ends[0]) < 1.5
    array = study["cls"].sel(layer=4, head=7)
    assert float(array) == pytest.approx(of_head.sum() / counts.sum(), abs=1e-12)
    assert float(array.coords["ci_low"]) == pytest.approx(low, abs=1e-12)
    assert float(array.coords["ci_high"]) == pytest.approx(high, abs=1e-12)


def test_examples_are_the_models_own_weights(study):
    """Read back the drawn maps and run the model again on the same tokens."""
    loaded = load_model()
    loaded.model.set_attn_implementation("eager")
    table = study.table("examples")
    shared = table[table.behavior == "shared"]
    sentences = shared.groupby(["document", "segment"]).size()
    assert 1 < len(sentences) <= 3
    assert set(sentences) == {72}
    assert set(table.behavior) - {"shared"} <= {"previous", "next", "cls", "sep", "period_comma", "broad"}
    for row in [*table[table.behavior != "shared"].to_dict("records"), *shared.iloc[30::72].to_dict("records")]:
        n = len(row["tokens"])
        ids = torch.tensor([loaded.tokenizer.convert_tokens_to_ids(list(row["tokens"]))])
        with torch.no_grad():
            out = loaded.model(input_ids=ids, output_attentions=True)
        theirs = out.attentions[row["layer"] - 1][0, row["head"] - 1].numpy()
        pieces = [at for at, key in enumerate(row["keys"]) if key.startswith("##")]
        assert list(row["continues_word"]) == pieces
        ours = np.array(row["weights"]).reshape(n, len(row["keys"]))
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_the_manifest_says_what_was_run(study):
    manifest = json.loads((study.path / "manifest.json").read_text())
    assert manifest["complete"] is True
    assert manifest["kinds"] == [{"kind": "encoder", "layers": 6, "heads": 12}]
    signature = manifest["signature"]
    assert signature["model"]["name"] == "headscope-minilm"
    assert signature["model"]["special"] == {"cls": "[CLS]", "sep": "[SEP]"}
    assert signature["options"]["packing"] == "paragraphs"
    assert set(signature["versions"]) >= {"headscope", "torch", "transformers", "python"}
    counts = manifest["counts"]
    assert counts["segments"] == 40
    assert counts["skipped"] == sum(counts["skipped_why"].values())


def test_the_same_run_is_not_computed_twice_and_another_signature_differs(study, options, monkeypatch):
    from headscope.running import writing

    monkeypatch.setattr(writing, "measure_stage", lambda *_, **__: pytest.fail("measured again"))
    write_run(prepare(options), study.path)
    assert hs.open_study(study.path).manifest == study.manifest
    other = prepare(replace(options, max_inputs=39))
    assert other.signature["id"] != study.manifest["signature"]["id"]


def test_other_versions_and_lost_tables_are_computed_again(tmp_path):
    out = tmp_path / "out"
    options = RunOptions(model=str(save_tiny_bert(tmp_path / "tiny")), text=(str(demo_text()),),
                         packing="single", max_inputs=12, stages=("stats",))  # fmt: skip
    write_run(prepare(options), out)
    value = hs.open_study(out).stats.value.to_numpy()
    manifest = out / "manifest.json"
    content = json.loads(manifest.read_text())
    content["signature"]["versions"]["transformers"] = "4.0"
    manifest.write_text(json.dumps(content))
    (out / "tables" / "stats.parquet").unlink()
    write_run(prepare(options), out)
    again = hs.open_study(out)
    np.testing.assert_array_equal(again.stats.value.to_numpy(), value)
    assert again.manifest["signature"]["versions"]["transformers"] != "4.0"


def test_what_other_versions_measured_is_not_taken_over(tmp_path):
    """A stage of before is known by a note: it stays as long as versions are the same, and goes with other ones."""
    out, mark = tmp_path / "out", "of before"
    options = RunOptions(model=str(save_tiny_bert(tmp_path / "tiny")), text=(str(demo_text()),),
                         packing="single", max_inputs=4, stages=("stats",))  # fmt: skip
    write_run(prepare(options), out)
    path = out / MANIFEST
    content = read_sealed(path, remedy="").content
    content["stages"]["stats"]["notes"] = [mark]
    write_sealed(path, content)
    write_run(prepare(options), out)
    assert hs.open_study(out).manifest["stages"]["stats"]["notes"] == [mark]
    content["signature"]["versions"]["transformers"] = "4.0"
    write_sealed(path, content)
    write_run(prepare(options), out)
    assert mark not in hs.open_study(out).manifest["stages"]["stats"]["notes"]


def test_manifests_of_others_are_not_opened(tmp_path):
    for content in ("[]", '{"name": "my web app"}'):
        (tmp_path / "manifest.json").write_text(content)
        with pytest.raises(InputError) as refused:
            hs.open_study(tmp_path)
        assert str(refused.value) == (
            f"{tmp_path / 'manifest.json'} is not the manifest of a headscope run; give a folder that headscope "
            "report wrote"
        )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"max_inputs": 0}, "max_inputs is 0; expected a whole number from 1"),
        ({"seed": -1}, "seed is -1; expected a number from 0"),
        ({"packing": "pairs"}, "packing 'pairs' is not known; choose one of pretraining, paragraphs, joined, single"),
    ],
)
def test_wrong_options_from_python(options, sentence):
    with pytest.raises(OptionError) as refused:
        hs.report(**options)
    assert str(refused.value) == sentence


def test_an_unknown_option_from_python_names_the_nearest():
    with pytest.raises(
        OptionError, match=r"^report has no option 'batchsize'; it has model, .*; did you mean batch_size\?$"
    ):
        hs.report(batchsize=3)


def test_a_study_shows_itself(study):
    assert repr(study) == (
        f"<Study of headscope-minilm: 6 x 12 encoder heads; 40 segments of "
        f"{study.manifest['counts']['documents_used']} documents; {study.path}>"
    )
    html = study._repr_html_()
    assert "Heads of the encoder by role" in html
    stages = study.manifest["stages"]
    assert list(study.tables) == sorted(
        schema.name
        for analysis in ANALYSES
        for stage in analysis.stages
        if stage.name in stages
        for schema in analysis.tables(stage)
    )
    with pytest.raises(KeyError, match="no table 'probes'; this study has examples, norms, "):
        study.table("probes")
    with pytest.raises(KeyError, match="no statistic 'color'; this study has previous, next, current"):
        study["color"]
    with pytest.raises(KeyError, match="no cross attention; this study has encoder"):
        study.array("cls", kind="cross")


def test_opening_what_is_no_study(tmp_path):
    with pytest.raises(InputError) as refused:
        hs.open_study(tmp_path)
    assert str(refused.value) == (
        f"{tmp_path} holds no headscope run: expected a manifest.json, as headscope report --out writes it"
    )


def test_batch_size_is_not_part_of_the_answer():
    tables = [
        StatsMeasurement(prepare(RunOptions(packing="single", max_inputs=14, batch_size=size, stages=("stats",))))
        .measure()
        .tables["stats"]
        for size in (1, 7)
    ]
    for column in ("value", "ci_low", "ci_high", "uniform"):
        np.testing.assert_allclose(tables[0][column], tables[1][column], atol=1e-5)


@pytest.mark.parametrize(
    ("name", "origin", "kind", "expected"),
    [
        ("google-bert/bert-base-uncased", "hub", ("encoder", 12, 12), True),
        ("bert-base-cased", "hub", ("encoder", 12, 12), True),
        ("bert-base-uncased", "folder", ("encoder", 12, 12), False),
        ("someone/bert-base-uncased", "hub", ("encoder", 12, 12), False),
        ("bert-base-uncased", "hub", ("encoder", 6, 12), False),
        ("bert-base-uncased", "hub", ("decoder", 12, 12), False),
    ],
)
def test_the_papers_column_is_for_the_papers_model(study, name, origin, kind, expected):
    """Name and shape must both say BERT-base; the signature is faked here. Its column is tested with the report."""
    manifest = json.loads(json.dumps(study.manifest))
    manifest["signature"]["model"].update(name=name, origin=origin)
    manifest["kinds"] = [dict(zip(("kind", "layers", "heads"), kind))]
    assert is_bert_base(manifest) is expected
    assert hs.Study(manifest, study.tables).is_bert_base is expected
    assert paper_numbers()["stats"]["entropy_cls_last_layer_nats"] == 3.89


def test_the_reference_figures_on_wikipedia(tmp_path):
    """The independent loop's figures: first 200 pairs of consecutive lines that fit in 128 tokens."""
    path = beginning(data("wiki-sample/wiki_sample.txt"), 200, tmp_path)
    options = RunOptions(text=(str(path),), packing="paragraphs", too_long="skip")
    stats = of_measure(StatsMeasurement(prepare(options)).measure().tables["stats"])
    table = stats.set_index(["statistic", "layer", "head"]).value
    expected = {
        ("previous", 1, 3): 0.973,
        ("previous", 2, 10): 0.651,
        ("next", 2, 9): 0.930,
        ("next", 5, 10): 0.555,
        ("cls", 4, 7): 0.844,
        ("cls", 5, 12): 0.841,
        ("entropy", 1, 8): 3.857,
    }
    for place, value in expected.items():
        assert table[place] == pytest.approx(value, abs=0.005), place
    means = stats[stats["head"].isna() & (stats.statistic == "cls")].sort_values("layer").value
    assert means.tolist() == pytest.approx([0.09, 0.38, 0.51, 0.58, 0.64, 0.24], abs=0.0055)


def test_packing_pairs_are_the_tokenizers_own():
    """Ids and token types of a pair equal transformers' own call."""
    loaded = load_model()
    packer = Packer(Encoder(loaded.tokenizer), packing="paragraphs", too_long="skip")
    segments = list(islice(packer.pack(read_corpus([str(demo_text())])), 20))
    for segment, (first, second) in zip(segments, pairs_of(demo_text(), 20)):
        theirs = loaded.tokenizer(first, second)
        assert segment.ids.tolist() == theirs["input_ids"]
        assert segment.token_types.tolist() == theirs["token_type_ids"]
