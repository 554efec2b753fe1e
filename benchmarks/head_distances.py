"""Distances between all heads: time compared with the bare model, error, and time of the original's formula.

All in one process with the same threads: for a segment of 128 tokens the bare forward pass with sdpa, the distances
between all pairs of heads from its weights, and the computation of the original's notebook, head by head in numpy.
"""

import argparse

import numpy as np
import torch
from transformers import BertModel

from headscope.analyses.distances.sums import jensen_shannon, pair_sums
from headscope.attention.model.examination import examine
from headscope.corpora.reading import read_corpus
from headscope.encoding.encoder import Encoder
from headscope.encoding.line_packing import Packer
from headscope.encoding.segment import Segment
from headscope.encoding.vocabulary import Vocabulary
from headscope.installing import demo_text
from headscope.models.forward_inputs import model_inputs
from headscope.models.load_model import load_model
from rounds import alternate, median_ratio
from scan_overhead import SHAPES, made_up


def weights_of(model: torch.nn.Module, inputs: dict[str, torch.Tensor]) -> list[torch.Tensor]:
    """Return one segment's weights, one tensor per layer, `[head, row, key]`."""
    model.set_attn_implementation("eager")
    with torch.inference_mode():
        layers = [layer[0] for layer in model(**inputs, output_attentions=True).attentions]
    model.set_attn_implementation("sdpa")
    return layers


def original_formula(heads: np.ndarray, number: int) -> np.ndarray:
    """Compute the divergence of the first heads from all by the notebook's formula, in the precision of the maps.

    One head against all others at once: smoothing, the mean distribution, then two relative entropies.
    """
    smooth = heads.dtype.type(0.999) * heads + heads.dtype.type(0.001) / heads.dtype.type(heads.shape[-1])
    out = np.zeros((number, len(heads)), dtype=heads.dtype)
    for head in range(number):
        own = smooth[head][None]
        middle = (own + smooth) / 2
        left = np.sum(own * np.log(own / middle), axis=-1)
        right = np.sum(smooth * np.log(smooth / middle), axis=-1)
        out[head] = ((left + right) / 2).sum(-1)
    return out


def worst(stacks: list[list[torch.Tensor]]) -> tuple[float, float, float]:
    """Return the largest share of the allowed error (1e-5 d + 1e-8), the largest relative error, and the smallest d."""
    found = pair_sums(stacks)
    total = sum(sums[0] for sums in found)
    rows = sum(layers[0].shape[1] for layers in stacks)
    exact = np.zeros_like(total)
    for layers in stacks:
        heads = torch.cat(layers)
        exact += np.concatenate(
            [jensen_shannon(heads[i], heads[i + 1 :]).sum(-1).numpy() for i in range(len(heads) - 1)]
        )
    off, d = np.abs(total - exact) / rows, exact / rows
    return float((off / (1e-5 * d + 1e-8)).max()), float((off / d).max()), float(d.min())


def compare(
    name: str,
    model: torch.nn.Module,
    segments: list[Segment],
    vocabulary: Vocabulary,
    *,
    rounds: int,
    batch: int,
    loop: int,
) -> None:
    """Print one model's times and ratios."""
    anatomy = examine(model, vocabulary)
    first = model_inputs(segments[:1], anatomy, vocabulary)[1]
    several = model_inputs(segments[:batch], anatomy, vocabulary)[1]
    layers = weights_of(model, dict(first))
    heads = torch.cat(layers).numpy()
    half = heads.astype(np.float16)
    stacks = [layers] * batch

    def bare() -> None:
        with torch.inference_mode():
            model(**several)

    times = alternate({"bare": bare, "distances": lambda: pair_sums(stacks)}, rounds=rounds)
    ratio = median_ratio(times, "distances", "bare")
    few = max(1, loop // 8)
    slow = alternate(
        {"float32": lambda: original_formula(heads, loop), "float16": lambda: original_formula(half, few)}, rounds=1
    )
    own = min(times["distances"]) / batch
    single = min(slow["float32"]) * len(heads) / loop
    shipped = min(slow["float16"]) * len(heads) / few
    print(
        f"{name}: {len(heads)} heads, {heads.shape[1]} tokens, {torch.get_num_threads()} threads, "
        f"bare sdpa {min(times['bare']) / batch * 1e3:.1f} ms a segment "
        f"in batches of {batch}; all {len(heads) * (len(heads) - 1) // 2} distances {own * 1e3:.1f} ms; "
        f"ratio {ratio:.3f} (rounds "
        f"{' '.join(f'{a / b:.3f}' for a, b in zip(times['distances'], times['bare']))})\n"
        f"  the original's formula, float32 {single:.1f} s: {single / own:.0f}x; as shipped, float16 "
        f"{shipped:.1f} s: {shipped / own:.0f}x (from {loop} and {few} heads against all)",
        flush=True,
    )


def main(*, rounds: int, batch: int, loop: int, documents: int) -> None:
    """Print both models' times, and the error on the embedded model's maps of real text."""
    config, *_ = SHAPES["BERT-base"]
    torch.manual_seed(0)
    base = BertModel._from_config(config, add_pooling_layer=False, attn_implementation="sdpa").eval()
    segments, vocabulary = made_up(batch)
    compare("BERT-base", base, segments, vocabulary, rounds=rounds, batch=batch, loop=loop)
    loaded = load_model()
    encoder = Encoder(loaded.tokenizer)
    real = list(Packer(encoder, max_length=128).pack(read_corpus(str(demo_text())), max_inputs=max(batch, documents)))
    real.sort(key=len, reverse=True)
    compare("headscope-minilm", loaded.model, real, encoder.vocabulary, rounds=rounds, batch=batch, loop=loop)
    anatomy = examine(loaded.model, encoder.vocabulary)
    maps = [
        weights_of(loaded.model, dict(model_inputs([segment], anatomy, encoder.vocabulary)[1]))
        for segment in real[:documents]
    ]
    share, relative, least = worst(maps)
    print(
        f"headscope-minilm, {documents} segments of real text: worst error of a pair is {share:.2f} of the tolerance "
        f"(1e-5 d + 1e-8), {relative:.1e} of itself; distances from {least:.4f} nats",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--loop", type=int, default=8, help="heads of the original's formula")
    parser.add_argument("--documents", type=int, default=8, help="segments whose error is measured")
    options = parser.parse_args()
    torch.set_num_threads(2)
    main(rounds=options.rounds, batch=options.batch, loop=options.loop, documents=options.documents)
