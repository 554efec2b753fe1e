"""The stage over a run of a model, and over its saved maps: what is written of rows is what the model read there."""

import numpy as np
import pytest

import headscope as hs
from headscope.analyses.distribution.compute import DistributionMeasurement
from headscope.analyses.distribution.tables import DISTRIBUTION, EXAMPLES
from headscope.encoding.tokenizer.token_names import readable_tokens
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare
from headscope.statistics.tables.frames import check_table
from support.commands import run_command
from support.model_folders import save_tiny_masked_lm

LINES = [
    *("The cat sat on the mat.", "It slept.", "A dog came by.", "It left, and it was seen no more."),
    *("Who was it?", "Nobody knew the dog."),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    text = "\n\n".join("\n".join(LINES[i % 5 : i % 5 + 2]) for i in range(24))
    (folder / "text.txt").write_text(text)
    model = str(save_tiny_masked_lm(folder / "tiny"))
    return prepare(
        RunOptions(model=model, text=(str(folder / "text.txt"),), packing="single", stages=("distribution",))
    )


@pytest.fixture(scope="module")
def result(run):
    return DistributionMeasurement(run).measure()


def test_tables_are_as_they_are_declared(result):
    check_table(DISTRIBUTION, result.tables["distribution"])
    check_table(EXAMPLES, result.tables["distribution_examples"])
    assert len(result.tables["distribution_examples"]) > 100
    assert set(result.tables["distribution_examples"]["measure"]) == {"output_norm"}


def test_rows_are_written_as_the_model_read_them(run, result):
    segments = {
        (segment.document, segment.index): readable_tokens(run.loaded.tokenizer, segment.ids)
        for batch in run.batches(8)
        for segment in batch
    }
    for row in result.tables["distribution_examples"].to_dict("records"):
        tokens = segments[row["document"], row["segment"]]
        first = row["start"]
        assert row["tokens"] == tokens[first : first + len(row["tokens"])]
        assert first == max(0, row["row"] - 10)
        assert first + len(row["tokens"]) == min(len(tokens), row["row"] + 6)
        joined = [place for place, token in enumerate(row["tokens"]) if place and token.startswith("##")]
        assert list(row["continues_word"]) == joined
        assert row["key_token"] == tokens[row["key"]]
        assert tokens[row["row"]] not in ("[CLS]", "[SEP]")


def test_rows_lie_in_their_decile_or_in_its_bins(result):
    cuts = result.tables["distribution"].query("measure == 'output_norm'")
    cuts = cuts.pivot(index=["kind", "layer", "head"], columns="decile", values="value")
    for row in result.tables["distribution_examples"].to_dict("records"):
        own = [0.0, *cuts.loc[(row["kind"], row["layer"], row["head"])], np.inf]
        # A bin is an eighth of its values wide.
        assert own[row["decile"] - 1] / 1.13 <= row["value"] <= own[row["decile"]] * 1.13


@pytest.mark.slow
def test_saved_maps_have_all_but_what_is_written(run, result, tmp_path):
    folder = tmp_path / "maps"
    how = ("--model", run.options.model, "--text", run.options.text[0], "--packing", "single")
    code, _, err = run_command("extract", *how, "--out", folder, "--store", "float32")
    assert (code, err) == (0, "")
    found = hs.distribution(maps=folder)
    table, own = found.table("distribution"), result.tables["distribution"]
    keys = ["layer", "head", "measure", "decile"]
    merged = table.merge(own, on=keys, suffixes=("", "_own"))
    written = merged["measure"] == "output_norm"
    assert merged.loc[written, "value"].isna().all()
    np.testing.assert_allclose(merged.loc[~written, "value"], merged.loc[~written, "value_own"], rtol=0.02, atol=0.02)
    examples = found.table("distribution_examples")
    assert set(examples["measure"]) == {"non_sink"}
    assert all(row["tokens"][row["row"] - row["start"]] for row in examples.to_dict("records"))
