"""Scoring of all heads on all relations in both directions: time added to the bare model, and a plain loop.

Reads a treebank given by --treebank (docs/speed.md reports UD English EWT dev), else a built-in one.
"""

import argparse
import collections

import numpy as np
import torch

from headscope.analyses.syntax.accumulator import DependencyAccumulator
from headscope.analyses.syntax.gold_arcs import ArcTable
from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.scan import scan
from headscope.corpora.trees.treebank import read_treebank
from headscope.encoding.batching import length_buckets
from headscope.encoding.encoder import Encoder
from headscope.encoding.segment import Segment
from headscope.encoding.sentence_packing import SentencePacker
from headscope.installing import demo_treebank
from headscope.models.forward_inputs import model_inputs
from headscope.models.load_model import load_model
from rounds import alternate, median_ratio


def plain_loop(maps: list[np.ndarray], segments: list[Segment]) -> dict[tuple[int, int, bool, str], int]:
    """Count right answers with the notebook's loops: sentence by sentence, head by head, word by word."""
    right: collections.Counter[tuple[int, int, bool, str]] = collections.Counter()
    for attention, segment in zip(maps, segments, strict=True):
        words = segment.word_ids[1:-1]
        starts = [int(np.flatnonzero(words == word)[0]) + 1 for word in range(len(segment.words))]
        for layer in range(attention.shape[0]):
            for head in range(attention.shape[1]):
                to_words = np.add.reduceat(attention[layer, head][:, 1:-1], np.array(starts) - 1, axis=1)
                rows = np.add.reduceat(to_words[1:-1], np.array(starts) - 1, axis=0)
                sizes = np.diff([*starts, len(words) + 1])
                table = rows / sizes[:, None]
                np.fill_diagonal(table, 0)
                for transposed in (False, True):
                    answers = (table.T if transposed else table).argmax(1) + 1
                    for answer, gold, relation in zip(
                        answers, segment.fields["heads"], segment.fields["relns"], strict=True
                    ):
                        if answer == gold:
                            right[layer, head, transposed, relation] += 1
                            right[layer, head, transposed, "all"] += 1
    return right


def main(paths: list[str], *, batch: int, rounds: int, loop: int) -> None:
    """Print ratios over all sentences, and of the plain loop over some."""
    documents = list(read_treebank(paths or [demo_treebank()]))
    counts = collections.Counter(r for d in documents for s in d.sentences for r in s.relations)
    loaded = load_model()
    encoder = Encoder(loaded.tokenizer)
    anatomy = examine(loaded.model, encoder.vocabulary)
    segments = list(SentencePacker(encoder, max_length=128).pack(documents))
    batches = list(length_buckets(segments, batch_size=batch))
    ready = [model_inputs(each, anatomy, encoder.vocabulary)[1] for each in batches]
    table = ArcTable.of(counts, folded=True)

    def bare() -> None:
        with torch.inference_mode():
            for each in ready:
                loaded.model(**each)

    def ours() -> None:
        accumulator = DependencyAccumulator(anatomy.layout, table)
        scan(ModelSource(loaded.model, anatomy, encoder.vocabulary, batches), [accumulator])

    times = alternate({"bare": bare, "scored": ours}, rounds=rounds)
    ratio = median_ratio(times, "scored", "bare")
    print(
        f"{len(segments)} sentences, batches of {batch}, {torch.get_num_threads()} threads: "
        f"bare {min(times['bare']):.1f} s, "
        f"with all heads x {len(table.relations)} relations x 2 directions scored {min(times['scored']):.1f} s; "
        f"ratio {ratio:.3f} (target 1.25; rounds "
        f"{' '.join(f'{a / b:.3f}' for a, b in zip(times['scored'], times['bare']))})",
        flush=True,
    )
    few = segments[:loop]
    loaded.model.set_attn_implementation("eager")
    maps = []
    with torch.inference_mode():
        for segment in few:
            inputs = model_inputs([segment], anatomy, encoder.vocabulary)[1]
            layers = loaded.model(**inputs, output_attentions=True).attentions
            maps.append(torch.stack(layers)[:, 0].numpy())
    loaded.model.set_attn_implementation("sdpa")
    some = list(length_buckets(few, batch_size=batch))
    few_ready = [model_inputs(each, anatomy, encoder.vocabulary)[1] for each in some]

    def few_bare() -> None:
        with torch.inference_mode():
            for each in few_ready:
                loaded.model(**each)

    def few_ours() -> None:
        accumulator = DependencyAccumulator(anatomy.layout, table)
        scan(ModelSource(loaded.model, anatomy, encoder.vocabulary, some), [accumulator])

    few_times = alternate({"plain loop": lambda: plain_loop(maps, few), "bare": few_bare, "scored": few_ours}, rounds=2)
    added = max(1e-9, min(few_times["scored"]) - min(few_times["bare"]))
    print(
        f"the notebook's plain loop on maps in memory, {len(few)} sentences: {min(few_times['plain loop']):.2f} s; "
        f"headscope adds {added:.2f} s to the model's {min(few_times['bare']):.2f} s",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--treebank", action="append", default=[])
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--loop", type=int, default=200, help="sentences of the plain loop")
    options = parser.parse_args()
    torch.set_num_threads(2)
    main(options.treebank, batch=options.batch, rounds=options.rounds, loop=options.loop)
