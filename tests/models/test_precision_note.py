"""What a run says of the precision that it was computed in."""

import pytest
import torch

from headscope.encoding.choices import DTYPES, precision_note
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare_model_run
from support.model_folders import save_tiny_bert


@pytest.mark.parametrize("dtype", DTYPES)
def test_low_precisions_are_said_with_their_error(dtype, tmp_path):
    (tmp_path / "my.txt").write_text("The cat sat.\nIt slept.\n")
    run = prepare_model_run(RunOptions(text=(str(tmp_path / "my.txt"),), stages=("stats",), dtype=dtype))
    said = [note for note in run.facts()["notes"] if note.startswith("computed in")]
    assert said == ([precision_note(dtype)] if dtype in ("bfloat16", "float16") else [])


def test_auto_is_the_precision_of_the_checkpoint_by_its_name(tmp_path):
    """The signature knows no `auto`: a run is the one that names the precision."""
    from transformers import AutoModel

    folder = save_tiny_bert(tmp_path / "tiny")
    AutoModel.from_pretrained(folder, dtype=torch.bfloat16).save_pretrained(folder)
    (tmp_path / "my.txt").write_text("The cat sat.\nIt slept.\n")
    runs = {
        dtype: prepare_model_run(
            RunOptions(
                model=str(folder), text=(str(tmp_path / "my.txt"),), stages=("stats",), dtype=dtype, max_length=16
            )
        )
        for dtype in ("auto", "bfloat16", "float32")
    }
    assert [run.signature["options"]["dtype"] for run in runs.values()] == ["bfloat16", "bfloat16", "float32"]
    assert runs["auto"].signature["id"] == runs["bfloat16"].signature["id"] != runs["float32"].signature["id"]
    assert precision_note("bfloat16") in runs["auto"].facts()["notes"]


def test_the_note_in_words():
    assert precision_note("bfloat16") == (
        "computed in bfloat16: on the embedded model that is up to 0.02 nats off a head's mean entropy and 0.001 off a "
        "share of attention; float32 where differences of that size matter"
    )
    assert precision_note("float32") is precision_note("float64") is None
