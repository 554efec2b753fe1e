"""The embedded decoder has heads worth looking at: by plain loops, beside the same model with random weights."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers as tf

import headscope as hs
from headscope.analyses.stats.sums import StatsAccumulator
from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.scan import scan
from headscope.corpora.reading import read_corpus
from headscope.encoding.batching import length_buckets
from headscope.encoding.encoder import Encoder
from headscope.encoding.line_packing import Packer
from headscope.installing import demo_text
from headscope.models.anatomy import GUIDED
from headscope.statistics.inference.significance import LARGE_SHARE
from headscope.statistics.statistic_catalog import STATISTICS

DOCUMENTS = 12
STRETCH = 64


@pytest.fixture(scope="module")
def folder():
    package = pytest.importorskip("headscope_decoder", reason="the decoder's package is not installed")
    return package.folder()


@pytest.fixture(scope="module")
def tokenizer(folder):
    return tf.AutoTokenizer.from_pretrained(folder)


@pytest.fixture(scope="module")
def trained(folder):
    return tf.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()


@pytest.fixture(scope="module")
def random(folder):
    torch.manual_seed(11)
    config = tf.AutoConfig.from_pretrained(folder)
    return tf.AutoModelForCausalLM.from_config(config, attn_implementation="eager", dtype=torch.float32).eval()


@pytest.fixture(scope="module")
def inputs(tokenizer):
    blocks = demo_text().read_text(encoding="utf-8").split("\n\n")[:DOCUMENTS]
    return [tokenizer(block, truncation=True)["input_ids"] for block in blocks]


def test_its_guided_heads_are_named_in_its_configuration():
    package = Path(__file__).parents[2] / "packages" / "headscope-decoder"
    config = json.loads((package / "src" / "headscope_decoder" / "weights" / "config.json").read_text())
    assert config[GUIDED] == {"heads": ["1-1", "2-8"], "share": 0.2}
    assert "in the first 20% of the steps, less and less, the loss also counted whether head 1-1" in " ".join(
        (package / "CARD.md").read_text(encoding="utf-8").split()
    )


def eager(model, ids):
    """transformers' own weights of one input, `[layer, head, query, key]`."""
    with torch.no_grad():
        found = model(input_ids=torch.tensor([ids]), output_attentions=True).attentions
    return np.stack([layer[0].double().numpy() for layer in found])


def mean_weight(model, inputs, key):
    """Mean weight on one key of each row but the first, `[layer, head]`; `key` says which."""
    values = []
    for ids in inputs:
        weights = eager(model, ids)
        values += [weights[:, :, row, key(row)] for row in range(1, len(ids))]
    return np.mean(values, axis=0)


def induction(model, tokenizer):
    """Over the second of two copies of 64 random tokens: mean weight on keys right after an earlier copy."""
    rng = np.random.default_rng(5)
    pieces = sorted(set(range(len(tokenizer))) - set(tokenizer.all_special_ids))
    values = []
    for _ in range(4):
        stretch = rng.choice(pieces, STRETCH).tolist()
        ids = [tokenizer.bos_token_id, *stretch, *stretch]
        weights = eager(model, ids)
        for row in range(1 + STRETCH, len(ids)):
            total = np.zeros(weights.shape[:2])
            for earlier in range(row):
                if ids[earlier] == ids[row]:
                    total += weights[:, :, row, earlier + 1]
            values.append(total)
    return np.mean(values, axis=0)


@pytest.mark.slow
def test_a_previous_token_head_and_a_sink(trained, random, inputs):
    assert mean_weight(trained, inputs, lambda row: row - 1).max() > 0.5
    assert mean_weight(random, inputs, lambda row: row - 1).max() < 0.1
    assert mean_weight(trained, inputs, lambda _: 0).max() > LARGE_SHARE
    assert mean_weight(random, inputs, lambda _: 0).max() < 0.1


@pytest.mark.slow
def test_an_induction_head(trained, random, tokenizer):
    assert induction(trained, tokenizer).max() > 0.4
    assert induction(random, tokenizer).max() < 0.05


@pytest.mark.slow
def test_headscope_sees_the_same(folder, trained):
    """Its statistics of the model, loaded by name, against a plain loop over the very inputs."""
    loaded = hs.load_model("headscope-decoder")
    assert (loaded.name, loaded.origin, loaded.family) == ("headscope-decoder", "embedded", "llama")
    assert next(loaded.model.parameters()).dtype == torch.float32
    encoder = Encoder(loaded.tokenizer)
    anatomy = examine(loaded.model, encoder.vocabulary)
    assert [(part.kind, part.layers, part.heads) for part in anatomy.layout] == [("decoder", 4, 8)]
    segments = list(
        Packer(encoder, packing="single", max_length=64).pack(read_corpus((str(demo_text()),)), max_inputs=10)
    )
    sums = StatsAccumulator(anatomy.layout)
    scan(ModelSource(loaded.model, anatomy, encoder.vocabulary, length_buckets(iter(segments), batch_size=4)), [sums])
    heads = sums.compute()[0].heads.value
    for name, key in (("previous", lambda row: row - 1), ("cls", lambda _: 0)):
        means = []
        for segment in segments:
            weights = eager(trained, segment.ids.tolist())
            rows = [weights[:, :, row, key(row)] for row in range(0 if name == "cls" else 1, len(segment))]
            means.append(np.sum(rows, axis=0) / len(segment))  # the first row has no token before it, and counts
        assert np.allclose(heads[:, :, list(STATISTICS).index(name)], np.mean(means, axis=0), atol=1e-5)


@pytest.mark.slow
def test_the_package_is_small_and_whole(folder, tokenizer):
    assert (folder / "model.safetensors").stat().st_size < 20_000_000
    assert hs.load_model("headscope-decoder").model.config.num_key_value_heads == 4
    text = "It rained in Zürich.\nAll day."
    assert tokenizer.decode(tokenizer(text, add_special_tokens=False)["input_ids"]) == f" {text}"


@pytest.mark.slow
def test_a_run_of_it_by_its_name(folder):
    """Its report in a browser is that of `tests/reporting/test_demo_browser.py`."""
    study = hs.stats(model="headscope-decoder", max_inputs=12)
    assert study.manifest["signature"]["model"]["name"] == "headscope-decoder"
    assert study.manifest["signature"]["model"]["origin"] == "embedded"
    heads = study.stats.query("statistic == 'previous' and kind == 'decoder'").dropna(subset=["head"])
    assert len(heads) == 32
    assert heads["value"].max() > 0.5
