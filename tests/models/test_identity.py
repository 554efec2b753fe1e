"""Hashes of weights and configurations, and the heads named in a configuration."""

import shutil
import threading
import weakref
from types import SimpleNamespace

import pytest
import torch

from headscope.analyses.probes.treebanks import ProbeBench, ProbeTreebank
from headscope.models import identity
from headscope.models.anatomy import GUIDED, guided_heads
from headscope.models.identity import configuration_hash, tensors_hash, weights_hash
from headscope.models.load_model import load_model
from headscope.running.stages import stage_signatures
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare
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
    bank = object.__new__(ProbeTreebank)
    bank.hash = "of a treebank"
    assert len({ProbeBench._key(SimpleNamespace(run=run), bank) for run in runs}) == 2


def test_a_configuration_is_known_under_another_name_and_with_a_head(tmp_path):
    bare = save_tiny_bert(tmp_path / "bare")
    shutil.copytree(bare, tmp_path / "copy")
    folders = (bare, tmp_path / "copy", save_tiny_masked_lm(tmp_path / "with-head"))
    assert len({configuration_hash(load_model(folder, device="cpu")) for folder in folders}) == 1


def test_a_hash_depends_on_each_name_shape_type_byte_and_on_their_order():
    given = {f"layer.{number}.weight": torch.full((3, 4), float(number)) for number in range(20)}
    changed = {
        "byte": given | {"layer.19.weight": given["layer.19.weight"] + 1},
        "shape": given | {"layer.19.weight": given["layer.19.weight"].T},
        "type": given | {"layer.19.weight": given["layer.19.weight"].double()},
        "name": {name.replace("19", "20"): tensor for name, tensor in given.items()},
        "less": dict(list(given.items())[:-1]),
        "order": dict(reversed(given.items())),
    }
    hashes = {what: tensors_hash(each.items()) for what, each in ({"given": given} | changed).items()}
    assert len(set(hashes.values())) == len(hashes)
    assert tensors_hash(given.items()) == hashes["given"]


def test_few_tensors_are_in_memory_at_once():
    """Offloaded ones are fetched as they come."""
    alive, most = weakref.WeakSet(), 0

    def fetched():
        nonlocal most
        for number in range(50):
            tensor = torch.zeros(2)
            alive.add(tensor)
            most = max(most, len(alive))
            yield f"{number:02}", tensor

    tensors_hash(fetched())
    assert 1 < most <= 20


def test_several_are_hashed_at_a_time(monkeypatch):
    """Each waits until another is being hashed, too."""
    both, plain = threading.Barrier(2), identity._line

    def line(named):
        both.wait(timeout=30)
        return plain(named)

    given = [(f"{number}", torch.full((2,), float(number))) for number in range(4)]
    expected = tensors_hash(given)
    monkeypatch.setattr(identity, "_line", line)
    assert tensors_hash(given) == expected


FIELD = {"heads": ["1-1", "2-8"], "share": 0.2}


def test_the_field_is_read_as_it_is_written():
    assert guided_heads(SimpleNamespace(guided_heads=FIELD)) == FIELD
    assert guided_heads(SimpleNamespace()) is None


@pytest.mark.parametrize(
    "field",
    [
        "1-1",
        ["1-1"],
        {"heads": "1-1", "share": 0.2},
        {"heads": [], "share": 0.2},
        {"heads": ["<b>"], "share": 0.2},
        {"heads": ["1-1", 3], "share": 0.2},
        {"heads": ["0-1"], "share": 0.2},
        {"heads": ["1-1"]},
        {"heads": ["1-1"], "share": "0.2"},
        {"heads": ["1-1"], "share": 0.0},
        {"heads": ["1-1"], "share": float("nan")},
    ],
)
def test_what_is_not_as_it_should_be_is_not_read(field):
    assert guided_heads(SimpleNamespace(guided_heads=field)) is None


def test_a_run_s_manifest_names_them():
    run = prepare(RunOptions(model="headscope-decoder", max_inputs=2, stages=("stats",)))
    setattr(run.loaded.model.config, GUIDED, FIELD)
    assert run.facts()[GUIDED] == FIELD
    setattr(run.loaded.model.config, GUIDED, None)
    assert GUIDED not in run.facts()
