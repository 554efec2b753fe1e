"""Check that a model of 7 billion parameters fits this machine, with a report on one with random bfloat16 weights.

    python benchmarks/large_model.py [--layers 32] [--width 4096] [--inputs 20] [--out DIR]

The shape is Llama's (32 layers of 32 heads, 11,008 wide inside, 32,000 tokens), the tokenizer the embedded decoder's.
It prints the seconds of each stage, the peak memory of the process, and the size of the page.
"""

import argparse
import resource
import tempfile
import time
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM

import headscope as hs
from headscope.models.load_model import load_tokenizer

TEXT = "The old man sat on the bank of the river, and did not know what to do. She said that she would come, and came. "


def model_of(*, layers: int, width: int) -> LlamaForCausalLM:
    """Return a Llama with random weights, created in bfloat16."""
    config = LlamaConfig(
        hidden_size=width,
        intermediate_size=width * 43 // 16,
        num_hidden_layers=layers,
        num_attention_heads=width // 128,
        vocab_size=32_000,
        max_position_embeddings=4096,
    )
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        return LlamaForCausalLM(config).eval()
    finally:
        torch.set_default_dtype(before)


def main() -> None:
    """Build the model and its report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--width", type=int, default=4096)
    parser.add_argument("--inputs", type=int, default=20)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    began = time.perf_counter()
    model = model_of(layers=options.layers, width=options.width)
    parameters = sum(each.numel() for each in model.parameters())
    print(f"{parameters:,} parameters, made in {time.perf_counter() - began:.0f} s", flush=True)
    tokenizer, _ = load_tokenizer("headscope-decoder")
    with tempfile.TemporaryDirectory() as place:
        began = time.perf_counter()
        study = hs.report(
            model,
            tokenizer=tokenizer,
            text=[f"{number}. {TEXT * 6}" for number in range(options.inputs)],
            max_length=128,
            max_inputs=options.inputs,
            skip=["experiments"],
            out=options.out or Path(place) / "report",
            watch=lambda progress: None,
        )
        seconds = {name: stage["seconds"] for name, stage in study.manifest["stages"].items()}
        print(", ".join(f"{name} {spent:.0f} s" for name, spent in seconds.items()))
        print(f"{study.manifest['counts']['tokens']:,} tokens, {time.perf_counter() - began:.0f} s for the report")
        print(f"page: {study.report_path.stat().st_size / 1e6:.1f} MB")
        for note in study.manifest["notes"]:
            print(f"note: {note}")
    print(f"memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20):.1f} GiB at most")


if __name__ == "__main__":
    main()
