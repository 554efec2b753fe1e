"""Models that are offloaded, adapted, quantized or split: read right, or refused (docs/reference/placement.md)."""

import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import headscope as hs
from headscope.encoding.encoder import Encoder
from headscope.errors import ModelError, OptionError
from headscope.installing import how_to_install
from headscope.models.identity import adaptation_facts, weights_hash
from headscope.models.in_memory import model_in_memory, with_random_weights
from headscope.models.load_model import load_model
from headscope.models.placement import check_placement, device_of
from headscope.scans.prepare.reading_model import model_facts
from support.benchmarks import benchmark
from support.docs import ROOT

TEXT = "The old man sat on the bank of the river, and the cat slept."
bench = benchmark("placement")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return bench.tiny_folder(tmp_path_factory.mktemp("tiny") / "model")


@pytest.fixture
def model(tiny):
    return AutoModelForCausalLM.from_pretrained(tiny).eval()


@pytest.fixture
def tokenizer(tiny):
    return AutoTokenizer.from_pretrained(tiny)


@pytest.mark.slow
@pytest.mark.parametrize("combination", bench.SMALL, ids=", ".join)
def test_it_is_right_or_refused_as_the_page_says(combination, tiny):
    outcome = bench.outcome(combination, tiny)
    if outcome.answer == "not made" and "Error: No module" in outcome.said:
        pytest.skip(outcome.said)
    assert outcome.answer in ("right", "refused"), outcome
    page = (ROOT / "docs/reference/placement.md").read_text(encoding="utf-8")
    assert f"| {' | '.join([*combination, outcome.answer])} |" in page


def test_the_matrix_sees_a_wrong_number(tiny, monkeypatch):
    monkeypatch.setattr(bench, "_attention_error", lambda *_: 0.01)
    assert bench.outcome(bench.SMALL[0], tiny).answer == "wrong"


@pytest.mark.parametrize("offload", ["cpu_offload", "disk_offload"])
def test_an_offloaded_model_is_the_same_model(offload, tiny, model, tokenizer, tmp_path):
    accelerate = pytest.importorskip("accelerate", reason="accelerate is not installed")
    whole = load_model(tiny)
    given = {"offload_dir": tmp_path} if offload == "disk_offload" else {}
    away = getattr(accelerate, offload)(model, execution_device=torch.device("cpu"), **given)
    assert next(away.parameters()).is_meta
    assert device_of(away) == torch.device("cpu")
    loaded = model_in_memory(away.base_model, tokenizer)
    assert weights_hash(loaded) == weights_hash(whole)
    vocabulary = Encoder(tokenizer).vocabulary
    assert model_facts(loaded, vocabulary)["weights"] == model_facts(whole, vocabulary)["weights"]
    controls = [with_random_weights(each, seed=3).state_dict() for each in (away.base_model, whole.model)]
    assert all(torch.equal(controls[0][name], controls[1][name]) for name in controls[1])


@pytest.mark.parametrize("memory", [60_000, 1 << 40])
def test_what_does_not_fit_is_fetched(memory, tiny, monkeypatch):
    utils = pytest.importorskip("accelerate.utils", reason="accelerate is not installed")
    monkeypatch.setattr(utils, "get_max_memory", lambda: {"cpu": memory})
    whole, spread = load_model(tiny), load_model(tiny, device_map="auto")
    assert any(each.is_meta for each in spread.model.parameters()) == (memory < 1 << 20)
    assert weights_hash(spread) == weights_hash(whole)
    assert torch.equal(*(torch.from_numpy(hs.attention(TEXT, model=each).to_numpy()) for each in (whole, spread)))


def test_a_device_map_needs_accelerate(tiny, monkeypatch):
    monkeypatch.setattr("headscope.models.placement.find_spec", lambda name: None)
    with pytest.raises(OptionError) as refusal:
        load_model(tiny, device_map="auto")
    assert str(refusal.value) == f"--device-map needs accelerate; {how_to_install('large')}"


def test_an_empty_model_is_refused(model):
    with pytest.raises(ModelError, match="LlamaForCausalLM has no numbers: it lies on the meta device"):
        check_placement(model.to("meta"))


def test_several_devices_are_refused(model):
    for part, device in zip(model.base_model.layers, ("cuda:0", "cuda:1"), strict=True):
        part._hf_hook = SimpleNamespace(hooks=[SimpleNamespace(execution_device=device, offload=False)])
    with pytest.raises(ModelError) as refusal:
        check_placement(model)
    assert str(refusal.value) == (
        "LlamaForCausalLM computes on cpu, cuda:0, cuda:1; expected one device: load it with a device_map of one of "
        "them and of cpu or disk, from which weights are fetched, or in bfloat16 or quantized where it does not fit"
    )


SPLIT = """
import sys
import torch.distributed as dist
dist.init_process_group("gloo", rank=int(sys.argv[1]), world_size=2, init_method=f"file://{sys.argv[2]}")
from torch.distributed.device_mesh import init_device_mesh
from transformers import AutoModelForCausalLM
from headscope.errors import ModelError
from headscope.models.placement import check_placement
from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module
model = AutoModelForCausalLM.from_pretrained(sys.argv[3])
mesh = init_device_mesh("cpu", (2,))
for layer in model.base_model.layers:
    parallelize_module(layer.self_attn, mesh, {name: ColwiseParallel() for name in ("q_proj", "k_proj", "v_proj")})
try:
    check_placement(model)
except ModelError as error:
    print(error)
dist.barrier()
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_a_model_in_tensor_parallel_is_refused(tiny, tmp_path):
    """In two processes over gloo, each of which has half of the heads."""
    command = [sys.executable, "-c", SPLIT]
    ranks = [
        subprocess.Popen([*command, str(rank), str(tmp_path / "meeting"), str(tiny)], stdout=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    said = [rank.communicate(timeout=300)[0] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0]
    assert said == 2 * [
        "LlamaForCausalLM is split over processes by tensor parallelism, so that each computes a part of the heads; "
        "load it in one process, and where it does not fit, offloaded: device_map with a device and cpu or disk\n"
    ]


class TestAdapters:
    @pytest.fixture
    def peft(self):
        return pytest.importorskip("peft", reason="peft is not installed")

    @pytest.fixture
    def adapted(self, peft, model):
        how = peft.LoraConfig(r=2, lora_alpha=8, target_modules=["q_proj", "o_proj"], init_lora_weights=False)
        return peft.get_peft_model(model, how).eval()

    def test_the_signature_names_it_and_what_it_is_multiplied_by(self, adapted):
        assert adaptation_facts(adapted.get_base_model()) == {"adapters": ["default"], "scaling": [("default", 4.0)]}
        with adapted.disable_adapter():
            assert adaptation_facts(adapted.get_base_model()) == {}

    def test_a_plain_model_has_no_such_facts(self, model):
        assert adaptation_facts(model) == {}

    def test_it_is_the_model_that_was_merged(self, adapted, tokenizer):
        apart = hs.attention(TEXT, model=adapted, tokenizer=tokenizer)
        merged = hs.attention(TEXT, model=adapted.merge_and_unload(), tokenizer=tokenizer)
        assert float(abs(apart - merged).max()) < 1e-5

    def test_one_that_writes_into_the_prompt_is_refused(self, peft, model, tokenizer):
        how = peft.PrefixTuningConfig(num_virtual_tokens=2, task_type="CAUSAL_LM")
        with pytest.raises(ModelError) as refusal:
            hs.attention(TEXT, model=peft.get_peft_model(model, how), tokenizer=tokenizer)
        assert str(refusal.value) == (
            "PeftModelForCausalLM has an adapter of type PREFIX_TUNING, which adds tokens that no text has; expected "
            "an adapter of weights, as LoRA, or the model without it: get_base_model()"
        )


class TestQuantized:
    def test_how_it_is_used_is_part_of_its_hash(self, tiny, tokenizer):
        """The numbers are the same, and attention is not, where activations are quantized as well."""
        quantization = pytest.importorskip("torchao.quantization", reason="torchao is not installed")
        hashes = set()
        for kind in (quantization.Int8WeightOnlyConfig, quantization.Int8DynamicActivationInt8WeightConfig):
            for _ in range(2):
                model = AutoModelForCausalLM.from_pretrained(tiny).eval()
                quantization.quantize_(model, kind())
                hashes.add(weights_hash(model_in_memory(model, tokenizer)))
                assert adaptation_facts(model) == {"quantization": "Int8Tensor"}
        assert len(hashes) == 2

    def test_a_quantized_folder_is_loaded(self, tiny, tokenizer, tmp_path):
        pytest.importorskip("bitsandbytes", reason="bitsandbytes is not installed")
        pytest.importorskip("accelerate", reason="accelerate is not installed")
        made = bench._made(("float32", "device", "bitsandbytes 4 bit", "none"), tiny, tmp_path)
        made.save_pretrained(tmp_path / "model")
        tokenizer.save_pretrained(tmp_path / "model")
        loaded = load_model(tmp_path / "model")
        assert adaptation_facts(loaded.model) == {"quantization": "bitsandbytes, Params4bit"}
        apart = hs.attention(TEXT, model=loaded) - hs.attention(TEXT, model=made, tokenizer=tokenizer)
        assert float(abs(apart).max()) < 1e-6

    def test_one_that_transformers_does_not_load_without_its_head(self, tiny, tokenizer, tmp_path):
        """torchao writes `dim: -1` into the configuration, the axis that has a scale: no size of the model."""
        quantization = pytest.importorskip("torchao.quantization", reason="torchao is not installed")
        from transformers import TorchAoConfig

        how = TorchAoConfig(quantization.Int8WeightOnlyConfig())
        folder = tmp_path / "model"
        AutoModelForCausalLM.from_pretrained(tiny, quantization_config=how).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        with pytest.raises(ModelError) as refusal:
            load_model(folder)
        assert str(refusal.value) == (
            f"{folder} has quantized weights that transformers does not load without the model's head; load it in "
            "Python by the class that it was saved with, as AutoModelForCausalLM, and give model= and tokenizer="
        )
        whole = AutoModelForCausalLM.from_pretrained(folder)
        assert "Int8Tensor" in adaptation_facts(model_in_memory(whole, tokenizer).model)["quantization"]
