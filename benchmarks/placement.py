"""Is attention right where a model is offloaded, adapted, quantized or compiled? The matrix of the reference.

A tiny random Llama is built in every way that the installed packages allow. Its attention is compared with the
attention that the same model returns under eager attention. The output norms of its heads are compared with those
computed from the output projection's weights, dequantized and with the adapters added by the packages that made them.

    python benchmarks/placement.py                       all combinations, printed
    python benchmarks/placement.py --small               one change at a time, and common combinations
    python benchmarks/placement.py --write docs/reference/placement.md
"""

import argparse
import itertools
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from headscope.attention.model.examination import examine
from headscope.attention.model.projections import find_projections
from headscope.encoding.encoder import Encoder
from headscope.errors import HeadscopeError
from headscope.models.identity import is_adapted
from headscope.models.in_memory import model_in_memory

DTYPES = ("float32", "bfloat16", "float16")
PLACEMENTS = ("device", "compiled", "cpu offload", "disk offload", "device map")
WEIGHTS = ("plain", "bitsandbytes 4 bit", "bitsandbytes 8 bit", "torchao int8", "torchao int8, activations too")
ADAPTERS = ("none", "LoRA", "prefix")
SMALL = (
    *(("float32", placement, "plain", "none") for placement in PLACEMENTS),
    *((dtype, "device", "plain", "none") for dtype in DTYPES[1:]),
    *(("float32", "device", weights, "none") for weights in WEIGHTS[1:]),
    *(("float32", "device", "plain", adapter) for adapter in ADAPTERS[1:]),
    ("bfloat16", "device", "bitsandbytes 4 bit", "LoRA"),
    ("bfloat16", "disk offload", "plain", "LoRA"),
)
_TEXT = "The old man sat on the bank of the river, and the cat slept."
_SENTENCES = [_TEXT, "She said that she would come, and she came late in the evening."] * 4


@dataclass(frozen=True)
class Outcome:
    """The outcome of one combination.

    Attributes:
        combination: dtype, placement, weights and adapter.
        answer: `right`, `wrong`, `refused` (with headscope's message) or `not made` (with the package's message).
        attention: largest difference of an attention weight.
        written: largest relative difference of a head's output norm for a random value; None if norms are unavailable.
    """

    combination: tuple[str, str, str, str]
    answer: str
    said: str = ""
    attention: float | None = None
    written: float | None = None


def outcome(combination: tuple[str, str, str, str], folder: Path) -> Outcome:
    """Build a model and read its attention.

    Args:
        combination: dtype, placement, weights and adapter.
        folder: folder of a model written by `tiny_folder`.
    """
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    with tempfile.TemporaryDirectory() as offloaded:
        try:
            model = _made(combination, folder, Path(offloaded))
        except Exception as error:  # any error of a package about a combination that it does not support
            return Outcome(combination, "not made", f"{type(error).__name__}: {error}".splitlines()[0])
        try:
            loaded = model_in_memory(model, tokenizer)
            # Before the first call, which repacks quantized weights.
            matrices = [_matrix(layer.self_attn.o_proj) for layer in loaded.model.base_model.layers]
            attention = _attention_error(loaded.model, tokenizer, model)
            written = _written_error(loaded.model, Encoder(tokenizer), matrices)
        except HeadscopeError as error:
            return Outcome(combination, "refused", str(error))
        # 8-bit activations and half-precision kernels: the tolerance covers rounding of the inputs, not of the map.
        close = attention <= 1e-6 and (written is None or written <= (1e-3 if combination[2] == "plain" else 2e-2))
        return Outcome(combination, "right" if close else "wrong", attention=attention, written=written)


def tiny_folder(folder: Path) -> Path:
    """Write a random Llama of 2 layers and 4 heads, with a tokenizer."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.train_from_iterator(
        _SENTENCES, trainers.BpeTrainer(vocab_size=300, special_tokens=["<s>"], show_progress=False)
    )
    PreTrainedTokenizerFast(tokenizer_object=core, bos_token="<s>", pad_token="<s>").save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        hidden_size=64, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        vocab_size=320, max_position_embeddings=128, initializer_range=0.2,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def _made(combination: tuple[str, str, str, str], folder: Path, offloaded: Path) -> Any:
    dtype, placement, weights, adapter = combination
    how: dict[str, Any] = {"dtype": getattr(torch, dtype)}
    if weights.startswith("bitsandbytes"):
        from transformers import BitsAndBytesConfig

        bits = (
            {"load_in_4bit": True, "bnb_4bit_compute_dtype": how["dtype"]} if "4" in weights else {"load_in_8bit": True}
        )
        how["quantization_config"] = BitsAndBytesConfig(**bits)
    if placement == "device map":
        parts = ["model.embed_tokens", "model.norm", "model.rotary_emb", "lm_head", "model.layers.0"]
        how |= {"device_map": dict.fromkeys(parts, "cpu") | {"model.layers.1": "disk"}, "offload_folder": offloaded}
    from transformers import AutoModelForCausalLM

    model: Any = AutoModelForCausalLM.from_pretrained(folder, **how).eval()
    if weights.startswith("torchao"):
        from torchao import quantization

        both = "activations" in weights
        kind = quantization.Int8DynamicActivationInt8WeightConfig if both else quantization.Int8WeightOnlyConfig
        quantization.quantize_(model, kind())
    if adapter != "none":
        import peft

        torch.manual_seed(1)
        how_adapted = (
            peft.LoraConfig(r=2, target_modules=["q_proj", "o_proj"], init_lora_weights=False)
            if adapter == "LoRA"
            else peft.PrefixTuningConfig(num_virtual_tokens=2, task_type="CAUSAL_LM")
        )
        model = peft.get_peft_model(model, how_adapted).eval()
    if placement == "compiled":
        return torch.compile(model)
    if placement.endswith("offload"):
        import accelerate

        cpu = torch.device("cpu")
        to_disk = placement.startswith("disk")
        return accelerate.disk_offload(model, offloaded, cpu) if to_disk else accelerate.cpu_offload(model, cpu)
    return model


def _attention_error(model: nn.Module, tokenizer: Any, given: Any) -> float:
    from headscope import attention

    maps = torch.from_numpy(attention(_TEXT, model=given, tokenizer=tokenizer).to_numpy()).squeeze(0)
    plain: Any = model
    before = plain.config._attn_implementation
    plain.set_attn_implementation("eager")
    with torch.no_grad():
        eager = plain(**tokenizer(_TEXT, return_tensors="pt"), output_attentions=True, use_cache=False).attentions
    plain.set_attn_implementation(before)
    return float((maps - torch.stack([each[0].float() for each in eager])).abs().max())


def _written_error(model: nn.Module, encoder: Encoder, matrices: list[Tensor]) -> float | None:
    """Return the largest relative error of the heads' output norms, for random values."""
    base: Any = model.base_model
    projections = find_projections(base, examine(base, encoder.vocabulary), encoder.vocabulary)
    if projections.missing:
        return None
    worst = 0.0
    for (_, layer), projection in projections.layers.items():
        matrix = matrices[layer]
        by_head = matrix.T.reshape(len(projection.factor), -1, matrix.shape[0])
        values = torch.randn(50, *by_head.shape[:2], generator=torch.Generator().manual_seed(layer))
        exact = torch.einsum("nhd,hdm->nhm", values, by_head).norm(dim=-1)
        told = torch.einsum("nhd,hdr->nhr", values, projection.factor.float()).norm(dim=-1)
        worst = max(worst, float(((told - exact).abs() / exact).max()))
    return worst


def _matrix(part: Any) -> Tensor:
    """Return the weights of a layer, `[out, in]`, dequantized and merged by the packages that made them."""
    if is_adapted(part):
        adapter = part.active_adapters[0]
        low, high = _matrix(part.lora_A[adapter]), _matrix(part.lora_B[adapter])
        return _matrix(part.base_layer) + part.scaling[adapter] * high @ low
    weight = part.weight
    if weight.is_meta:
        weight = part._hf_hook.weights_map["weight"]
    if type(weight).__name__ == "Params4bit":
        from bitsandbytes.functional import dequantize_4bit

        weight = dequantize_4bit(weight.data, weight.quant_state)
    elif type(weight).__name__ == "Int8Params":
        weight = weight.data.float() * weight.SCB[:, None].float() / 127
    return (weight.dequantize() if hasattr(weight, "qdata") else weight.detach()).float()


def rows(outcomes: Iterable[Outcome], *, numbers: bool) -> str:
    """Return the matrix in Markdown, with or without the numerical errors."""
    titles = ["precision", "where", "weights", "adapter", "answer", *(["attention off", "norms off"] * numbers)]
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    for each in outcomes:
        cells = [*each.combination, each.answer]
        if numbers:
            cells += ["" if value is None else f"{value:.0e}" for value in (each.attention, each.written)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def summary(outcomes: list[Outcome]) -> str:
    """Return the number of combinations by outcome, the largest differences, and the messages of failures."""
    counts = Counter(each.answer for each in outcomes)
    worst = [max((getattr(each, name) or 0.0 for each in outcomes), default=0.0) for name in ("attention", "written")]
    said = Counter((each.answer, each.said) for each in outcomes if each.said)
    return "\n".join(
        [
            f"{len(outcomes)} combinations: " + ", ".join(f"{number} {answer}" for answer, number in counts.items()),
            f"largest difference: {worst[0]:.0e} of attention, {worst[1]:.0e} of a head's output",
            *(f"{number} {answer}: {text}" for (answer, text), number in said.items()),
        ]
    )


def _meets(combination: tuple[str, str, str, str]) -> bool:
    """Return True if the placement supports the weights: offloading drops the scales of bitsandbytes."""
    _, placement, weights, _ = combination
    return weights.split()[0] != "bitsandbytes" or placement in ("device", "compiled")


def main() -> None:
    """Build the models, and print or write the matrix."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--write", type=Path, help="a page with the matrix of --small, which is replaced")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    small = options.small or options.write
    combinations = SMALL if small else filter(_meets, itertools.product(DTYPES, PLACEMENTS, WEIGHTS, ADAPTERS))
    with tempfile.TemporaryDirectory() as place:
        folder = tiny_folder(Path(place))
        outcomes = [outcome(each, folder) for each in combinations]
    print(rows(outcomes, numbers=True))
    print(summary(outcomes))
    if options.write:
        page = options.write.read_text(encoding="utf-8")
        before, _, after = page.partition("| precision | where |")
        rest = after.partition("\n\n")[2]
        options.write.write_text(f"{before}{rows(outcomes, numbers=False)}\n\n{rest}", encoding="utf-8")


if __name__ == "__main__":
    main()
