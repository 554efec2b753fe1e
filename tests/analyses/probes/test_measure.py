"""The stage of probes from treebanks to tables, with a tiny model."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from headscope.analyses.probes import score_rows as scores
from headscope.analyses.probes import trained_parsers as probe_stage
from headscope.analyses.probes import treebanks as probe_bench
from headscope.analyses.probes.compute import ProbesMeasurement
from headscope.analyses.probes.map_cache import MapCache
from headscope.analyses.probes.parsers import probe_training as training
from headscope.errors import InputError, OptionError, OutputError
from headscope.running.stages import check_maps, check_tables
from headscope.scans.declarations.analysis_list import STAGES
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare_model_run
from headscope.statistics.tables.frames import DISTANCES
from support.demo_treebank import demo_conllu
from support.model_folders import save_tiny_bert, save_tiny_gpt2
from support.quick_probes import quick_probes

pytestmark = pytest.mark.slow

MEASURES = {
    ("attention", "trained"): ["UAS", "LAS", "control accuracy", "selectivity"],
    ("attention and words", "trained"): ["UAS", "UAS tree", "LAS", "control accuracy", "selectivity"],
    ("distances and words", "trained"): ["UAS", "control accuracy", "selectivity"],
    ("attention", "control"): ["UAS"],
    ("attention and words", "control"): ["UAS"],
    ("right-branching", "trained"): ["UAS"],
    ("structural", "trained"): ["UUAS", "Spearman"],
}


@pytest.fixture(scope="module", autouse=True)
def small():
    """Training has tests of its own: here three steps of the structural probe will do, and epochs are of one pass.

    20 arcs make a relation.
    """
    with quick_probes() as patched:
        patched.setattr(scores, "FEWEST_ARCS", 20)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("probes")
    (folder / "train.conllu").write_text(demo_conllu(1, 8), encoding="utf-8")
    (folder / "dev.conllu").write_text(demo_conllu(101, 110), encoding="utf-8")
    save_tiny_bert(folder / "tiny")
    return folder


def asked(folder, **options):
    given = {
        "model": str(folder / "tiny"),
        "treebank": (str(folder / "dev.conllu"),),
        "treebank_train": (str(folder / "train.conllu"),),
        "stages": ("probes",),
        "seeds": 2,
    }
    return RunOptions(**{**given, **options})


@pytest.fixture(scope="module")
def cache(folder):
    return MapCache(folder / "cache", gib=1.0)


@pytest.fixture(scope="module")
def states():
    return []


@pytest.fixture(scope="module")
def result(folder, cache, states):
    return ProbesMeasurement(prepare_model_run(asked(folder)), watch=states.append, cache=cache).measure()


def test_its_tables_are_as_their_schemas_say(result):
    check_tables(result)


def test_every_probe_has_its_measures(result):
    table = result.tables["probes"]
    assert result.name == "probes"
    found = {key: list(dict.fromkeys(own["measure"])) for key, own in table.groupby(["probe", "model"], sort=False)}
    assert found == MEASURES
    assert table["seed"].dtype == "Int64"
    words = table[table["probe"].isin(["attention and words", "distances and words"])]
    assert set(words["vectors"]) == {"input embeddings of tiny"}
    for (probe, model, measure), own in table.groupby(["probe", "model", "measure"]):
        mean = own[own["seed"].isna()]
        seeds = own[own["seed"].notna()]
        assert len(mean) == 1
        one = measure in ("UAS tree", "control accuracy", "selectivity")
        number = 0 if probe == "right-branching" else 1 if one else 2
        assert seeds["seed"].tolist() == list(range(number)), (probe, model, measure)
        if number:
            assert mean["value"].item() == pytest.approx(seeds["value"].mean())
        assert (own["ci_low"] <= own["value"]).all()
        assert (own["value"] <= own["ci_high"]).all()


def test_the_baseline_is_what_the_treebank_says(result, folder):
    """Counted off the lines of the file."""
    right = words = 0
    for block in (folder / "dev.conllu").read_text().split("\n\n"):
        rows = [line.split("\t") for line in block.splitlines() if line and line[0].isdigit()]
        rows = [row for row in rows if row[0].isdigit()]
        for place, row in enumerate(rows, 1):
            if row[7].partition(":")[0] != "punct":
                words += 1
                right += int(row[6]) == (place + 1 if place < len(rows) else 0)
    table = result.tables["probes"]
    row = table[table["probe"] == "right-branching"].iloc[0]
    assert row["n_cases"] == words
    assert row["value"] == pytest.approx(right / words)
    own = table[~table["probe"].isin(["structural"])]
    assert set(own["n_cases"]) == {words}


def test_selectivity_is_the_difference_and_labels_need_the_arc(result):
    table = result.tables["probes"]
    own = table[(table["probe"] == "attention and words") & (table["model"] == "trained") & (table["seed"] == 0)]
    value = own.set_index("measure")["value"]
    assert value["selectivity"] == pytest.approx(value["UAS"] - value["control accuracy"])
    assert value["LAS"] <= value["UAS"]


def test_something_is_learned_of_the_words(result):
    """Determiners hang on what stands right of them, whatever the model; the tiny one's attention says nothing."""
    table = result.tables["probe_by_distance"]
    near = table[table["distance"] == "1"].set_index(["probe", "model"])["value"]
    assert near["distances and words", "trained"] > 0.5


def test_the_tables_by_relation_distance_and_head(result):
    relations, distances = result.tables["probe_relations"], result.tables["probe_by_distance"]
    probes = {key for key in MEASURES if key[0] != "structural"}
    assert set(zip(relations["probe"], relations["model"])) == probes
    assert "punct" not in set(relations["relation"])
    assert (relations["n_cases"] >= 20).all()
    for _, own in distances.groupby(["probe", "model"]):
        assert own["distance"].tolist() == list(DISTANCES)
    weights = result.tables["probe_weights"]
    assert len(weights) == 2 * 2 * 2 * 2  # probes, layers, heads, directions
    assert set(weights["probe"]) == {"attention", "attention and words"}
    assert np.isfinite(weights["weight"]).all()
    assert set(result.tables["probe_layers"]["layer"]) == {0, 1, 2}


def test_the_same_tables_again_from_the_cache(result, folder, cache, monkeypatch):
    """The trained model's attention is not computed again, and the control's is not kept."""
    assert len([path for path in cache.folder.iterdir() if path.is_dir()]) == 2
    scanned = []
    plain = probe_bench.collect
    monkeypatch.setattr(
        probe_bench, "collect", lambda source, *rest, **more: (scanned.append(source), plain(source, *rest, **more))[1]
    )
    again = ProbesMeasurement(prepare_model_run(asked(folder)), cache=cache).measure()
    assert len(scanned) == 2 * 2  # two controls over train and dev
    assert set(again.tables) == set(result.tables)
    for name, table in again.tables.items():
        pd.testing.assert_frame_equal(table, result.tables[name])
    assert again.facts == result.facts


def test_facts_and_progress(result, states):
    facts = result.facts["probes"]
    assert facts["vectors"] == "input embeddings of tiny"
    assert facts["train"]["documents"] == 8
    assert facts["dev"]["documents"] == 10
    assert facts["train"]["left_out"] == 0
    assert len(facts["epochs"]["probes: attention and words"]) == 3  # two seeds, and the control task
    # Attention alone is fitted, on every model; a gap of more than a thousandth would be a probe under-trained.
    assert set(facts["fits"]) == {"probes: attention", *(f"probes on random weights {n}: attention" for n in (1, 2))}
    for name, fit in facts["fits"].items():
        assert len(fit["gap"]) == len(fit["loss"]) == (3 if name == "probes: attention" else 1)
        assert max(fit["gap"]) < 1e-3
    assert facts["overlap"] == {"sentences": 0, "share": 0.0, "words": 0, "words_share": 0.0, "files": []}
    assert result.notes == ()
    seen = list(dict.fromkeys(state.stage for state in states))
    assert seen[:3] == ["attention over train", "attention over dev", "probes, epoch 1"]
    assert "attention of random weights 2 of 2 over train" in seen
    assert all(state.documents <= state.total for state in states if state.total is not None)


def test_what_was_still_learning_is_said(folder, cache, monkeypatch):
    plain = probe_stage.TrainingOptions.of
    monkeypatch.setattr(
        probe_stage.TrainingOptions, "of", lambda *given, **more: replace(plain(*given, **more), epochs=1)
    )
    monkeypatch.setattr(probe_stage, "FitOptions", partial(probe_stage.FitOptions, passes=1))
    found = ProbesMeasurement(prepare_model_run(asked(folder, seeds=1)), cache=cache).measure()
    for name in ("attention", "attention and words", "distances and words"):
        assert f"probes: {name}: its loss was not seen to settle; more may be found" in found.notes


def test_few_documents_long_sentences_and_no_special_tokens(folder, tmp_path, monkeypatch):
    """GPT-2 puts no token around a text; a treebank of one document gives no interval."""
    monkeypatch.setattr(training, "_LEAST_STEPS", 50)  # an epoch of one step would never be seen to settle
    lines = ["the cat sat on the mat .", "a dog ran to the red house .", "it slept well today .", "so did we ."]
    model = save_tiny_gpt2(tmp_path / "gpt2", lines)
    rows = ["# newdoc"]
    for line in [*lines, " ".join(lines[1].split() * 30)]:
        words = line.split()
        rows += [
            f"{at}\t{word}\t_\t_\t_\t_\t{at - 1}\t{'root' if at == 1 else 'dep'}\t_\t_"
            for at, word in enumerate(words, 1)
        ] + [""]
    (tmp_path / "one.conllu").write_text("\n".join(rows) + "\n")
    paths = (str(tmp_path / "one.conllu"),)
    options = asked(folder, model=str(model), treebank=paths, treebank_train=paths, seeds=1, max_length=100)
    with pytest.raises(OptionError, match="hold the same sentences"):
        prepare_model_run(options)
    options = replace(options, allow_overlap=True)
    found = ProbesMeasurement(prepare_model_run(options), cache=MapCache(tmp_path / "cache", gib=1.0)).measure()
    assert found.notes == (
        "probes: 4 of the measured sentences (100.0%, 100.0% of the words) are in train too, word for word; train "
        "holds the sentences of one.conllu, which --allow-overlap let in",
        "probes: 1 of 5 sentences of train was left out (over the limit)",
        "probes: 1 of 5 sentences of dev was left out (over the limit)",
        "probes: intervals need at least 10 documents; dev has 1",
        "probes: train is one document; sentences of it were held out in place of documents",
    )
    table = found.tables["probes"]
    assert table["ci_low"].isna().all()
    assert table.loc[table["probe"] == "right-branching", "value"].item() == 0.0


def test_a_treebank_to_train_on_is_asked_for(folder, cache):
    with pytest.raises(InputError) as refused:
        ProbesMeasurement(prepare_model_run(asked(folder, treebank_train=())), cache=cache).measure()
    assert str(refused.value) == (
        "probes need trees to be trained on beside those they are measured on; give --treebank-train too, such as "
        "ud:en_ewt/train"
    )


def test_a_treebank_without_trees_and_one_that_does_not_fit(folder, cache, tmp_path):
    with pytest.raises(InputError) as refused:
        ProbesMeasurement(prepare_model_run(asked(folder, max_length=5)), cache=cache).measure()
    assert str(refused.value) == ("no sentence of train.conllu fits into --max-length 5 tokens; raise it")


def test_no_room_on_the_disk_is_said_before_any_work(folder, tmp_path):
    with pytest.raises(OutputError, match=r"^the attention of train\.conllu and dev\.conllu takes 0\.\d GiB on disk"):
        ProbesMeasurement(prepare_model_run(asked(folder)), cache=MapCache(tmp_path / "cache", gib=1e-6)).measure()


def test_saved_maps_are_refused():
    with pytest.raises(OptionError) as refused:
        check_maps(STAGES["probes"], RunOptions(maps=Path("maps")))
    assert str(refused.value) == (
        "probes need a model; give one with --treebank and --treebank-train in place of --maps"
    )
