"""Experiments end to end: a tiny decoder, an encoder without a needle, a decoder behind an encoder, saved maps."""

import numpy as np
import pandas as pd
import pytest
import torch

from headscope.analyses.behaviors import catalog
from headscope.analyses.behaviors.catalog import SHARES
from headscope.analyses.behaviors.facts import PARTS as BEHAVIORS_PARTS
from headscope.analyses.behaviors.tables import RULE
from headscope.analyses.experiments.compute import SHUFFLED_INPUTS, inputs_of
from headscope.analyses.experiments.facts import PARTS
from headscope.analyses.experiments.tables import EXPERIMENTS
from headscope.errors import OptionError
from headscope.present.head_columns import head_columns
from headscope.running.stages import check_maps, measure_stage
from headscope.scans.declarations.analysis_list import STAGES
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare
from headscope.statistics.tables.frames import of_measure
from support import mock_inputs
from support.inputs import eager_maps
from support.measured import about, only, with_parts
from support.model_folders import save_tiny_bert, save_tiny_gpt2, save_tiny_t5

LINES = [
    f"The {a} {b} {c} a {d} by the {e}." for a in ("old", "red", "small") for b in ("cat", "dog", "hen")
    for c in ("saw", "met") for d in ("fish", "bird") for e in ("sea", "hill")
]  # fmt: skip


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("experiments")
    documents = ["\n".join(LINES[place::14]) for place in range(14)]
    (folder / "text.txt").write_text("\n\n".join(documents) + "\n")
    return folder


def prepared(base, make, *given, **options):
    model = make(base / make.__name__, *given)
    own = {"packing": "single", "max_length": 64, "controls": 1, "stages": ("experiments",)} | options
    return prepare(RunOptions(model=str(model), text=(str(base / "text.txt"),), **own))


@pytest.fixture(scope="module")
def run(base):
    return prepared(base, save_tiny_gpt2, LINES)


@pytest.fixture(scope="module")
def result(run):
    return measure_stage(STAGES["experiments"], run, {}, None)


def test_every_experiment_is_done_on_a_decoder_and_its_control(result):
    heads, best = result.tables["experiments"], result.tables["experiments_best"]
    for name, experiment in EXPERIMENTS.items():
        own = heads[heads["experiment"] == name]
        assert set(own["model"]) == {"trained", "control"}
        assert list(dict.fromkeys(own["behavior"])) == list(experiment.behaviors)
        chosen = best[(best["experiment"] == name) & (best["model"] == "trained")]
        occurring = own[(own["n_rows"] > 0) & own["behavior"].isin(SHARES)]
        assert set(chosen["behavior"]) == set(occurring["behavior"])
    facts = result.facts["experiments"]
    # As many sequences as the text has inputs, between 16 and 32; a control reads 12 of them, and 64 rows of each.
    number = min(max(facts["shuffled"]["inputs"], 16), 32)
    assert facts["repeated"] == {"inputs": number, "documents": number, "tokens": number * 128, "longest": 128}
    rows = heads[(heads["experiment"] == "repeated") & heads["head"].notna()].groupby("model")["n_rows"].max()
    assert rows.to_dict() == {"trained": number * 64, "control": 12 * 64}
    assert facts["needle"]["longest"] == 128
    assert facts["needle"]["documents"] == 14
    assert facts["shuffled"]["documents"] == 14
    assert result.notes == ()


def test_each_behavior_of_each_experiment_is_a_column_of_a_study(result):
    columns = head_columns(result.tables.get)
    expected = {f"experiments.{name}.{each}" for name, one in EXPERIMENTS.items() for each in one.behaviors}
    assert expected | {f"{name}.norm" for name in expected} <= set(columns)
    assert len(columns) == 4  # 2 layers of 2 heads


def test_induction_over_random_tokens_is_that_of_eager_attention_in_float64(run, result):
    """The whole way from the model to the table, by a loop over transformers' own weights."""
    model = run.loaded.model.double()
    try:
        sums, rows = np.zeros((2, 2)), 0
        for segment in inputs_of(run)["repeated"]:
            maps = eager_maps(model, input_ids=torch.from_numpy(segment.ids)[None])["self"]
            first, stop = segment.fields["copy"]
            for row in range(first, stop):
                keys = [key for key in range(1, row) if segment.ids[key - 1] == segment.ids[row]]
                rows += bool(keys)
                for layer, own in enumerate(maps):
                    sums[layer] += own[0, :, row, keys].sum(-1).numpy()
    finally:
        model.float()
    table = of_measure(result.tables["experiments"])
    own = table[
        (table["experiment"] == "repeated")
        & (table["model"] == "trained")
        & (table["behavior"] == "induction")
        & table["head"].notna()
    ]
    np.testing.assert_allclose(own["value"].to_numpy().reshape(2, 2), sums / rows, atol=1e-6)
    assert (own["n_rows"] == rows).all()


def test_an_encoder_is_given_no_needle(base):
    run = prepared(base, save_tiny_bert, controls=0)
    inputs = inputs_of(run)
    assert inputs["needle"] == []
    result = measure_stage(STAGES["experiments"], run, {}, None)
    assert set(result.tables["experiments"]["experiment"]) == {"repeated", "shuffled"}
    assert result.notes == ()


def test_the_vocabulary_is_read_once_for_all_experiments_and_controls(base, monkeypatch):
    run, calls = prepared(base, save_tiny_bert), []
    of = catalog.delimiters_of_tokenizer
    monkeypatch.setattr(catalog, "delimiters_of_tokenizer", lambda given: calls.append(given) or of(given))
    result = measure_stage(STAGES["experiments"], run, {}, None)
    assert set(result.tables["experiments"]["model"]) == {"trained", "control"}
    assert calls == [run.loaded.tokenizer]


def test_a_decoder_behind_an_encoder_reads_the_copy_a_token_later(base):
    run = prepared(base, save_tiny_t5, LINES, controls=0)
    result = measure_stage(STAGES["experiments"], run, {}, None)
    table, number = result.tables["experiments"], result.facts["experiments"]["repeated"]["inputs"]
    own = table[(table["experiment"] == "repeated") & (table["behavior"] == "previous")]
    assert set(own["kind"]) == {"encoder", "decoder", "cross"}
    stretch = 64
    # In the last sequence position of a decoder stands the token before `</s>`.
    assert set(own.loc[own["kind"] == "decoder", "n_rows"]) == {number * stretch}
    assert set(own.loc[own["kind"] == "encoder", "n_rows"]) == {number * stretch}
    assert set(own.loc[own["kind"] == "cross", "n_rows"]) == {0}


def test_the_words_are_those_of_the_text_in_another_order(run):
    text, shuffled = run.sample(SHUFFLED_INPUTS), inputs_of(run)["shuffled"]
    assert [segment.document for segment in text] == [segment.document for segment in shuffled]
    decode = run.loaded.tokenizer.decode
    changed = 0
    for one, other in zip(text, shuffled, strict=True):
        assert sorted(decode(one.ids).split()) == sorted(decode(other.ids).split())
        changed += decode(one.ids) != decode(other.ids)
    assert changed > len(text) / 2


def test_saved_maps_are_refused_in_words(tmp_path):
    options = RunOptions(maps=tmp_path, stages=("experiments",))
    with pytest.raises(OptionError) as refused:
        check_maps(STAGES["experiments"], options)
    assert str(refused.value) == (
        "saved maps answer no new inputs; give a model and text in place of --maps for experiments"
    )
    assert "experiments" not in RunOptions(maps=tmp_path).wanted


def tables(*, shows, interval=True, experiment="repeated", behavior="induction"):
    """An experiment in which one head of two was chosen."""
    low, high = (0.4, 0.5) if interval else (np.nan, np.nan)
    of = {"experiment": experiment, "model": "trained", "seed": pd.NA, "kind": "encoder", "layer": 1}
    own = {"behavior": behavior, "uniform": 0.02, "n_rows": 640}
    numbers = {"value": 0.45, "ci_low": low, "ci_high": high, "shows": shows}
    others = {"value": 0.01, "ci_low": 0.0, "ci_high": 0.02, "shows": False} if interval else numbers
    heads = pd.DataFrame([{**of, "head": 1, **own, **numbers}, {**of, "head": 2, **own, **others}])
    held = {"share": 1.0, "held_out": 0.44, "held_out_ci_low": low, "held_out_ci_high": high}
    best = {**of, "head": 1, **own, **numbers, **held}
    control = {**best, "model": "control", "seed": 0, "held_out": 0.021, "shows": False}
    return {"experiments": heads, "experiments_best": pd.DataFrame([best, control])}


def told(**how):
    run = with_parts(mock_inputs.section_4(1, 2), **tables(**how))
    found = PARTS.findings(about(run))
    return [one.text for one in found], only(PARTS.sections(about(run, found=found)))


def test_what_is_shown_is_said_and_the_table_has_uniform_attention_and_random_weights():
    said, page = told(shows=True)
    assert said == [
        "Head 1-1 shows induction over repeated random tokens: 45.0% (95% interval 40.0 to 50.0) of its attention goes "
        "to tokens after an earlier copy."
    ]
    assert 'href="#encoder-1-1"' in page
    assert "selected in 100% of splits" in page
    # Uniform attention, random weights, and how many heads show it.
    assert all(f">{number}<" in page for number in ("2.0", "2.1", "1 of 2"))
    assert "The head is selected on one half of the documents" in page


def test_retrieval_is_said_of_tokens_not_of_attention():
    """A head may be right at many tokens with little of its attention, and the reverse."""
    said, page = told(shows=True, experiment="needle", behavior="retrieval")
    assert said == [
        "Head 1-1 shows retrieval in repeated needles: 45.0% (95% interval 40.0 to 50.0) of tokens attend most to the "
        "needle’s next token."
    ]
    assert ">tokens<" in page
    assert ">attention<" not in page
    assert "Percent of attention (retrieval: of tokens)" in page
    assert "At how many tokens the strongest key of each encoder head is the right one" in page


def test_the_head_selected_need_not_be_one_that_shows_it():
    """Others pass the threshold; of the selected head the sentence says its share alone."""
    run = with_parts(mock_inputs.section_4(1, 2), **tables(shows=True))
    heads = run.tables.get("experiments").assign(shows=[False, True])
    found = PARTS.findings(about(with_parts(run, experiments=heads)))
    assert [one.text for one in found] == [
        "Over repeated random tokens, head 1-1 puts 45.0% (95% interval 40.0 to 50.0) of its attention on tokens after "
        "an earlier copy."
    ]


def test_the_rule_by_which_a_head_shows_a_behavior_is_in_the_glossary():
    assert RULE in dict(BEHAVIORS_PARTS.terms(about(mock_inputs.section_4(1, 2))))["Shows a behavior"]


def test_what_is_not_shown_or_not_tested_is_said_so():
    said, page = told(shows=False)
    assert said == ["No head shows induction over repeated random tokens."]
    said, page = told(shows=None, interval=False)
    assert said == ["Not tested over repeated random tokens, which needs at least 10 documents: induction."]
    assert "not tested" in page


def test_without_experiments_there_is_no_section():
    assert PARTS.sections(about(mock_inputs.section_4(1, 2))) == []
    assert PARTS.findings(about(mock_inputs.section_4(1, 2))) == []
