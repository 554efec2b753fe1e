"""What says that two models are the same: their weights, and how these are used."""

import shutil

from headscope.declarations.run_options import RunOptions
from headscope.models.loading.hashing import configuration_hash, weights_hash
from headscope.models.loading.load_model import load_model
from headscope.prepare.prepared_run import prepare
from headscope.running.stages import stage_signatures
from support.model_folders import save_tiny_bert, save_tiny_masked_lm


def test_the_same_weights_cut_into_other_heads_are_another_model(tmp_path):
    """The number of heads is in no weight's shape; attention between words lay in one place for both."""
    folders = [save_tiny_bert(tmp_path / str(heads), heads=heads) for heads in (2, 4)]
    two, four = (load_model(folder, device="cpu") for folder in folders)
    assert weights_hash(two) == weights_hash(four)
    assert configuration_hash(two) != configuration_hash(four)
    (tmp_path / "text.txt").write_text("The cat sat on the mat.")
    text, runs = (str(tmp_path / "text.txt"),), []
    for folder in folders:
        runs.append(prepare(RunOptions(model=str(folder), text=text, packing="single", stages=("stats",))))
    assert runs[0].signature["id"] != runs[1].signature["id"]
    assert stage_signatures(runs[0]) != stage_signatures(runs[1])


def test_a_configuration_is_known_under_another_name_and_with_a_head(tmp_path):
    bare = save_tiny_bert(tmp_path / "bare")
    shutil.copytree(bare, tmp_path / "copy")
    folders = (bare, tmp_path / "copy", save_tiny_masked_lm(tmp_path / "with-head"))
    assert len({configuration_hash(load_model(folder, device="cpu")) for folder in folders}) == 1
