"""Peak memory of long inputs: 32 layers of 32 heads over one text of 8,192 tokens, scan and bare model in processes."""

import argparse
import json
import resource
import subprocess
import sys

TARGET = 2048  # MiB beyond the model


def measure(*, layers: int, heads: int, width: int, tokens: int, scanned: bool) -> dict[str, float]:
    """Run a random Llama once; return the peak memory above the memory of the built model, in MiB."""
    import torch
    from transformers import LlamaConfig, LlamaModel

    from headscope.analyses.stats.sums import StatsAccumulator
    from headscope.attention.model.examination import examine
    from headscope.attention.model.model_source import ModelSource
    from headscope.attention.scan import scan
    from headscope.models.forward_inputs import model_inputs, no_cache
    from scan_overhead import made_up

    torch.set_num_threads(2)
    config = LlamaConfig(
        vocab_size=30522,
        hidden_size=width,
        intermediate_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        max_position_embeddings=tokens,
    )
    model = LlamaModel._from_config(config, attn_implementation="sdpa").eval()
    segments, vocabulary = made_up(1, tokens)
    anatomy = examine(model, vocabulary)
    ready = model_inputs(segments, anatomy, vocabulary)[1]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if scanned:
        sums = StatsAccumulator(anatomy.layout)
        scan(ModelSource(model, anatomy, vocabulary, [segments]), [sums])
    else:
        with torch.inference_mode():
            model(**ready, **no_cache(anatomy))
    return {"mib": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--heads", type=int, default=32, help="in a layer")
    parser.add_argument("--width", type=int, default=512, help="of the model")
    parser.add_argument("--tokens", type=int, default=8192)
    parser.add_argument("--one", choices=("bare", "scan"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    shape = {name: getattr(options, name) for name in ("layers", "heads", "width", "tokens")}
    if options.one:
        print(json.dumps(measure(**shape, scanned=options.one == "scan")))
        raise SystemExit
    found = {}
    for one in ("bare", "scan"):
        asked = [text for name, value in shape.items() for text in (f"--{name}", str(value))]
        done = subprocess.run(
            [sys.executable, __file__, *asked, "--one", one], capture_output=True, text=True, check=True
        )
        found[one] = json.loads(done.stdout.splitlines()[-1])["mib"]
        print(f"{one}: peak {found[one]:,.0f} MiB beyond the model", flush=True)
    print(
        f"{options.layers} x {options.heads} heads, {options.tokens:,} tokens: the scan takes {found['scan']:,.0f} MiB "
        f"beyond the model (target {TARGET:,}), the bare model {found['bare']:,.0f}"
    )
