"""The cost of a scan: weights only, and weights with output norms, compared with the bare model with sdpa."""

import argparse

import torch
from transformers import BertConfig, BertModel

from headscope.analyses.norms.compute import NormAccumulator
from headscope.analyses.stats.sums import NormStatsAccumulator, StatsAccumulator
from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.scan import scan
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.encoding.segment import Segment
from headscope.encoding.vocabulary import KeyClass, Vocabulary
from headscope.models.forward_inputs import model_inputs
from rounds import alternate, median_ratio

# Largest ratio to the bare time for a scan of weights, and of output norms too, by shape; None without a target.
SHAPES = {
    "BERT-base": (BertConfig(), 1.08, 1.15),
    "headscope-minilm": (
        BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536),
        1.25,
        None,
    ),
}
LENGTH = 128


def made_up(number: int, length: int = LENGTH) -> tuple[list[Segment], Vocabulary]:
    """Return segments of `length` tokens: [CLS], two [SEP] and every twelfth token a period, from 16 documents."""
    generator = torch.Generator().manual_seed(0)
    classes = torch.zeros(30522, dtype=torch.uint8).numpy()
    classes[[101, 102, 1012]] = [KeyClass.CLS, KeyClass.SEP, KeyClass.PERIOD_COMMA]
    vocabulary = Vocabulary(classes=classes, has_cls=True, cls_name="[CLS]", sep_name="[SEP]", pad_id=0)
    segments = []
    for index in range(number):
        ids = torch.randint(2000, 30000, (length,), generator=generator).numpy()
        ids[::12] = 1012
        ids[[0, length // 2, -1]] = [101, 102, 102]
        types = (torch.arange(length) > length // 2).long().numpy()
        segments.append(
            Segment(document=f"d{index % 16}", index=index // 16, ids=ids, token_types=types, word_ids=ids * 0)
        )
    return segments, vocabulary


def compare(name: str, *, segments: int, batch: int, rounds: int) -> float:
    """Print one shape's times and ratios; return the ratio for weights only."""
    config, target, norm_target = SHAPES[name]
    torch.manual_seed(0)
    model = BertModel._from_config(config, add_pooling_layer=False, attn_implementation="sdpa").eval()
    inputs, vocabulary = made_up(segments)
    anatomy = examine(model, vocabulary)
    assert anatomy.path == "fused", anatomy.path
    batches = [inputs[start : start + batch] for start in range(0, segments, batch)]
    ready = [model_inputs(each, anatomy, vocabulary)[1] for each in batches]

    def bare() -> None:
        with torch.inference_mode():
            for each in ready:
                model(**each)

    # The output projections are found once per model, as in a run.
    source = ModelSource(model, anatomy, vocabulary, batches)
    source.run(Nobody(), {"statistics", "written"})

    def look() -> None:
        scan(source, [StatsAccumulator(anatomy.layout)])

    def look_at_norms() -> None:
        scan(source, [NormStatsAccumulator(anatomy.layout), NormAccumulator(anatomy.layout)])

    times = alternate({"bare sdpa": bare, "scan": look, "scan with norms": look_at_norms}, rounds=rounds)
    best = min(times["bare sdpa"]) / segments * 1e3
    print(
        f"{name}: {segments} segments x {LENGTH} tokens, batches of {batch}, {torch.get_num_threads()} threads: "
        f"bare sdpa {best:.1f} ms a segment",
        flush=True,
    )
    for what, most in (("scan", target), ("scan with norms", norm_target)):
        aim = "no target" if most is None else f"target {most:.2f}"
        rounded = " ".join(f"{a / b:.3f}" for a, b in zip(times[what], times["bare sdpa"]))
        print(f"  {what} / bare = {median_ratio(times, what, 'bare sdpa'):.3f} ({aim}; rounds {rounded})", flush=True)
    return median_ratio(times, "scan", "bare sdpa")


class Nobody:
    """Receives tiles and ignores them."""

    def begin(self, batch: Batch) -> None:
        """Ignore the start of a batch."""

    def update(self, tile: AttentionTile) -> None:
        """Ignore a tile."""

    def end(self, batch: Batch) -> None:
        """Ignore the end of a batch."""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--segments", type=int, default=64)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--shape", choices=[*SHAPES, "all"], default="all")
    options = parser.parse_args()
    torch.set_num_threads(2)
    for shape in SHAPES if options.shape == "all" else [options.shape]:
        compare(shape, segments=options.segments, batch=options.batch, rounds=options.rounds)
