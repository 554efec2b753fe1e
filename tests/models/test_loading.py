"""Loading models: from folders, from the hub, and every way it can fail in plain words."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
import torch
import transformers as tf

import headscope as hs
from headscope.attention.model.examination import examine
from headscope.encoding.encoder import Encoder
from headscope.errors import ModelError, OptionError
from headscope.models.identity import weights_hash
from headscope.models.load_model import LoadedModel, load_model, longest_input
from headscope.models.refusals import WORKING_FAMILIES, in_words
from support.hub_server import HubServer
from support.inputs import PAD, eager_maps, vocabulary
from support.model_folders import save_tiny_bert
from support.tiny_models import VOCABULARY
from support.tiny_tokenizers import tiny_tokenizer

LOAD = (
    "import sys\n"
    "from headscope.errors import ModelError\n"
    "from headscope.models.identity import weights_hash\n"
    "from headscope.models.load_model import load_model\n"
    "try:\n"
    "    loaded = load_model(sys.argv[1], revision=sys.argv[2] if len(sys.argv) > 2 else None)\n"
    "    print(loaded.name, loaded.family, weights_hash(loaded))\n"
    "except ModelError as error:\n"
    "    print('ModelError:', error)\n"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny_bert(tmp_path_factory.mktemp("models") / "tiny-bert")


@pytest.fixture(scope="module")
def hub(folder):
    server = HubServer(folder)
    yield server
    server.shutdown()
    server.server_close()


def load_from_hub(address, *arguments, cache):
    """Load in a fresh process; return what it says of the model."""
    return run_with_hub(LOAD, address, *arguments, cache=cache)


def run_with_hub(code, address, *arguments, cache):
    """Run a program that believes that the hub is at an address; return its last line."""
    environment = {**os.environ, "HF_ENDPOINT": address, "HF_HUB_OFFLINE": "0", "HF_HOME": str(cache)}
    environment["HF_HUB_DISABLE_XET"] = "1"
    environment["HF_HUB_ETAG_TIMEOUT"] = "3"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, env=environment, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip().splitlines()[-1]


@pytest.mark.slow
def test_a_hub_name_is_fetched_then_served_from_the_cache(hub, folder, tmp_path):
    expected = weights_hash(load_model(folder))
    assert load_from_hub(hub.address, "tiny/bert", cache=tmp_path) == f"tiny/bert bert {expected}"
    assert any("model.safetensors" in path for path in hub.seen)
    # The hub is gone: what was fetched before still works.
    assert load_from_hub("http://127.0.0.1:9", "tiny/bert", cache=tmp_path) == f"tiny/bert bert {expected}"


@pytest.mark.slow
def test_the_hub_says_no(hub, tmp_path):
    assert load_from_hub(hub.address, "tiny/absent", cache=tmp_path) == (
        "ModelError: the hub has no model tiny/absent; give its full name, as google-bert/bert-base-uncased"
    )
    assert load_from_hub(hub.address, "tiny/bert", "v9", cache=tmp_path) == (
        "ModelError: the hub has tiny/bert but no revision v9; look up its branches, tags and commits"
    )


@pytest.mark.slow
def test_a_hub_out_of_reach_names_what_works_offline(tmp_path):
    assert load_from_hub("http://127.0.0.1:9", "google-bert/bert-base-uncased", cache=tmp_path) == (
        "ModelError: the hub cannot be reached, and google-bert/bert-base-uncased is not in its cache; what works "
        "offline: no --model (the embedded headscope-minilm), a local folder, or a model fetched before"
    )


def test_offline_mode_says_the_same(monkeypatch):
    with pytest.raises(ModelError, match=r"^the hub cannot be reached, and org/name is not in its cache; what works"):
        load_model("org/name")


def test_an_embedded_model_by_its_name():
    """The default one has a name too; a folder of that name is given as a path."""
    default, named = load_model(), load_model("headscope-minilm")
    assert (named.name, named.origin) == (default.name, default.origin) == ("headscope-minilm", "embedded")
    assert weights_hash(named) == weights_hash(default)
    with pytest.raises(ModelError, match=r"^no model folder at \./headscope-minilm"):
        load_model("./headscope-minilm")


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(ModelError) as refused:
        load_model(str(tmp_path / "nowhere"))
    assert str(refused.value) == (
        f"no model folder at {tmp_path / 'nowhere'}; give a folder with config.json, or a hub name as org/name"
    )


def test_a_folder_without_a_configuration(tmp_path):
    with pytest.raises(ModelError) as refused:
        load_model(tmp_path)
    assert str(refused.value) == f"{tmp_path} has no config.json; expected a model folder as save_pretrained writes it"


def test_a_broken_configuration(tmp_path):
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ModelError, match=r"config.json is not JSON \(.*\); copy or download the folder again"):
        load_model(tmp_path)


@pytest.mark.parametrize("pickled", [False, True])
def test_a_folder_without_safe_weights(tmp_path, pickled):
    save_tiny_bert(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    extra = ""
    if pickled:
        torch.save({}, tmp_path / "pytorch_model.bin")
        extra = " (its pytorch_model.bin is a pickle, which is not read)"
    with pytest.raises(ModelError) as refused:
        load_model(tmp_path)
    assert str(refused.value) == (
        f"{tmp_path} has no weights: expected model.safetensors{extra}; save the model with save_pretrained, "
        "which writes safetensors"
    )


def test_a_folder_without_a_tokenizer(tmp_path):
    save_tiny_bert(tmp_path)
    for name in ("tokenizer.json", "vocab.txt", "tokenizer_config.json"):
        (tmp_path / name).unlink(missing_ok=True)
    with pytest.raises(ModelError) as refused:
        load_model(tmp_path)
    assert str(refused.value) == (
        f"{tmp_path} has no tokenizer: expected tokenizer.json; save the tokenizer with save_pretrained into the "
        "same folder"
    )


def test_a_family_that_is_not_known(tmp_path):
    save_tiny_bert(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config["model_type"] = "no-such-thing"
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError) as refused:
        load_model(tmp_path)
    assert str(refused.value) == (
        f"{tmp_path} is of a family that transformers does not know; these work: {WORKING_FAMILIES}"
    )


def test_a_checkpoint_that_lacks_layers_is_refused(tmp_path):
    """Otherwise the missing layers would be random, and their heads would be reported as the model's."""
    from safetensors.torch import load_file, save_file

    save_tiny_bert(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    kept = {name: tensor for name, tensor in weights.items() if "layer.1." not in name}
    save_file(kept, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError) as refused:
        load_model(tmp_path)
    assert str(refused.value) == (
        f"{tmp_path.name}: the checkpoint lacks 16 of the model's weights "
        "(encoder.layer.1.attention.output.LayerNorm.bias, ...), which would be random; expected a whole checkpoint "
        "of this architecture"
    )


def test_a_model_without_attention_names_the_families_that_work():
    from transformers import MambaConfig, MambaModel

    config = MambaConfig(hidden_size=16, num_hidden_layers=1, vocab_size=99, state_size=4)
    with pytest.raises(ModelError) as refused:
        examine(MambaModel(config), vocabulary())
    assert str(refused.value).startswith(
        "MambaModel gives no attention weights: expected a transformer with softmax attention; these families work: "
        + WORKING_FAMILIES
    )


def test_what_is_no_tokenizer_is_refused():
    class Slow:
        is_fast = False

    with pytest.raises(ModelError) as refused:
        Encoder(Slow())
    assert str(refused.value) == (
        "Slow is not a tokenizer that can be read: expected one of transformers, as AutoTokenizer.from_pretrained "
        "returns it"
    )


def test_unknown_options_name_the_known_ones(folder):
    with pytest.raises(OptionError) as refused:
        load_model(folder, dtype="float8")
    assert (
        str(refused.value) == "--dtype 'float8' is not known; choose one of auto, float32, float64, bfloat16, float16"
    )
    with pytest.raises(
        OptionError, match=r"^--device 'warp' is not there \(.*\); choose auto, cpu, cuda or cuda:0 \.\.\.$"
    ):
        load_model(folder, device="warp")


def test_half_precision_checkpoints_are_computed_in_float32(folder, tmp_path):
    """transformers loads weights as they are saved; float16 moved accuracies by 0.3 points."""
    from transformers import AutoModel

    AutoModel.from_pretrained(folder, dtype=torch.float16).save_pretrained(tmp_path)
    save = load_model(folder).tokenizer.save_pretrained(tmp_path)
    assert save
    assert {p.dtype for p in load_model(tmp_path).model.parameters()} == {torch.float32}
    assert {p.dtype for p in load_model(tmp_path, dtype="bfloat16").model.parameters()} == {torch.bfloat16}
    assert {p.dtype for p in load_model(tmp_path, dtype="auto").model.parameters()} == {torch.float16}
    assert {p.dtype for p in load_model(folder, dtype="auto").model.parameters()} == {torch.float32}


def test_the_hash_knows_the_weights_and_not_the_random_pooler():
    first, second = load_model(), load_model()
    assert weights_hash(first) == weights_hash(second)
    assert first.untrained == {"pooler.dense.weight", "pooler.dense.bias"}
    with torch.no_grad():
        next(second.model.parameters())[0, 0] += 1
    assert weights_hash(first) != weights_hash(second)


def test_positions_without_an_end_limit_no_input():
    """XLNet's configuration says that it has -1 positions."""
    torch.manual_seed(0)
    config = tf.XLNetConfig(vocab_size=VOCABULARY, d_model=32, n_layer=2, n_head=4, d_inner=48, pad_token_id=PAD)
    model = tf.XLNetModel(config).eval()
    loaded = LoadedModel(model=model, tokenizer=tiny_tokenizer(), name="tiny")
    assert config.max_position_embeddings == -1
    assert longest_input(loaded, examine(model, vocabulary())) == 1 << 30
    found = hs.attention("the old bridge .", model=model, tokenizer=loaded.tokenizer)
    ids = torch.tensor([loaded.tokenizer("the old bridge .")["input_ids"]])
    theirs = eager_maps(model, input_ids=ids)["self"]
    np.testing.assert_allclose(found, torch.cat(theirs).numpy(), atol=2e-6)


CONFIGS = (
    "import json, sys\n"
    "from pathlib import Path\n"
    "from headscope.errors import ModelError\n"
    "from headscope.models.load_model import load_model\n"
    "folder, words = Path(sys.argv[1]), {}\n"
    "config = json.loads((folder / 'config.json').read_text())\n"
    "for family in sys.argv[2:]:\n"
    "    named = {'model_type': family, 'backbone': 'tiny/bert', 'use_timm_backbone': False}\n"
    "    (folder / 'config.json').write_text(json.dumps(config | named | {'architectures': None}))\n"
    "    try:\n"
    "        load_model(folder)\n"
    "    except ModelError as error:\n"
    "        words[family] = str(error)\n"
    "print(json.dumps(words))\n"
)
FAMILIES = ("detr", "mask2former", "oneformer", "grounding-dino", "dpt", "upernet", "vitpose", "omdet-turbo")
"""Families whose configuration may name another model in `backbone`, of the hub."""


@pytest.mark.slow
def test_nothing_is_fetched_that_only_a_configuration_names(hub, folder, tmp_path):
    made = tmp_path / "model"
    shutil.copytree(folder, made)
    before = list(hub.seen)
    words = json.loads(run_with_hub(CONFIGS, hub.address, str(made), *FAMILIES, cache=tmp_path))
    assert hub.seen == before
    assert set(words.values()) == {
        f"{made} names a part that lies on the hub, which is not fetched, since nobody named it here; expected a "
        "folder that holds the whole model: save it with save_pretrained"
    }
    assert set(words) == set(FAMILIES)


def test_a_refusal_does_not_speak_pythons_language():
    for error in (AttributeError("'NoneType' object has no attribute 'get'"), KeyError("x"), RecursionError("deep")):
        with pytest.raises(ModelError) as refused, in_words("mine", part="its config.json"):
            raise error
        assert str(refused.value) == (
            "mine could not be loaded, for its config.json is not as it should be; expected what save_pretrained "
            "writes: save model and tokenizer again into one folder"
        )
    with (
        pytest.raises(ModelError, match="could not be loaded: 3 heads do not divide a width of 16; expected"),
        in_words("mine"),
    ):
        raise ValueError("3 heads do not divide a width of 16")
