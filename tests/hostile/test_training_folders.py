"""A damaged training folder leads to the same weights, a noted restart, or a message with the remedy."""

import shutil

import pytest
import torch

from headscope.errors import HeadscopeError, InputError
from headscope_train.training_run import train
from support import hostile_run_folders as folders
from support.hostile import printable

HOW = {
    **{"size": "1x2x16", "vocabulary": 300, "batch_size": 8, "learning_rate": 5e-3, "dropout": 0.1},
    **{"packing": "single", "steps": 8, "every": 4},
}
DAMAGE = [damage for damage in folders.FILE_DAMAGE if damage.__name__ != "_folder"]
BEGAN = "what a stopped training left in resume.safetensors or training.parquet was damaged: the training began again"


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("the cat sat on the mat\nit slept\n\na dog came by\nit left\n\n" * 12)
    torch.set_num_threads(1)
    return path


@pytest.fixture(scope="module")
def whole(text, tmp_path_factory):
    return train(text=text, out=tmp_path_factory.mktemp("whole") / "model", **HOW)


@pytest.fixture(scope="module")
def stopped(text, tmp_path_factory):
    out = tmp_path_factory.mktemp("stopped") / "model"

    def stop(progress):
        if progress.step == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(text=text, out=out, watch=stop, **{**HOW, "every": 4})
    assert (out / "resume.safetensors").is_file()
    return out


def weights(training):
    return (training.path / "model.safetensors").read_bytes()


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__[1:])
@pytest.mark.parametrize("name", ["resume.safetensors", "training.parquet"])
def test_a_stopped_training_begins_again_and_comes_to_the_same(name, damage, text, whole, stopped, tmp_path):
    out = tmp_path / "model"
    shutil.copytree(stopped, out)
    damage(out / name)
    again = train(text=text, out=out, **HOW)
    assert weights(again) == weights(whole)
    lost = name == "resume.safetensors" and damage.__name__ == "_gone"  # no file remains to be damaged
    bit = (
        name == "training.parquet" and damage.__name__ == "_one_bit"
    )  # the flipped bit may lie in bytes that are not read
    if not bit:
        assert (BEGAN in again.facts["notes"]) is not lost
    assert list(again.log["step"].unique()) == list(whole.log["step"].unique())


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__[1:])
@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "training.parquet"])
def test_a_finished_training_with_damaged_files_is_done_again(name, damage, text, whole, tmp_path):
    out = tmp_path / "model"
    shutil.copytree(whole.path, out)
    damage(out / name)
    again = train(text=text, out=out, **HOW)
    assert weights(again) == weights(whole)
    assert f"{name} was not as it was written: the training began again" in again.facts["notes"]


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__[1:])
def test_damaged_facts(damage, text, stopped, tmp_path):
    out = tmp_path / "model"
    shutil.copytree(stopped, out)
    damage(out / "training.json")
    with pytest.raises(HeadscopeError) as refused:
        train(text=text, out=out, **HOW)
    said = str(refused.value)
    assert printable(said)
    assert said.startswith(str(out))
    assert said.endswith(
        (
            "; train again with another --out; the models next to it can be used without it",
            "; give --out a new or empty folder",
        )
    )


def test_a_damaged_log_is_named_by_who_reads_it(whole, tmp_path):
    out = tmp_path / "model"
    shutil.copytree(whole.path, out)
    (out / "training.parquet").write_bytes(b"PAR1")
    copy = type(whole)(out, whole.facts)
    with pytest.raises(InputError) as refused:
        _ = copy.log
    assert str(refused.value) == (
        f"{out / 'training.parquet'} is damaged: no table of a training can be read from it; train again with "
        "another --out; the models next to it can be used without it"
    )
