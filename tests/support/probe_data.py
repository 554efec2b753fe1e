"""Made-up trees with made-up attention on disk, in the format that probes read."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from headscope.analyses.probes.map_cache import TableWriter, WordMaps
from headscope.analyses.probes.probe_data import SPECIAL, ProbeData
from headscope.analyses.probes.tree_sentences import TreeSentence, kinds_of, numbered
from support.trees import random_tree

WORDS = ("cat", "dog", "sat", "ran", "the", "a", "red", "on", "mat", "it")


def made_up_trees(number: int, *, seed: int = 0, longest: int = 9, documents: int = 6) -> list[TreeSentence]:
    """Return random trees over random words, in a few documents."""
    rng = np.random.default_rng(seed)
    sentences = []
    for place in range(number):
        size = int(rng.integers(1, longest + 1))
        heads, relations = random_tree(size, rng)
        sentences.append(
            TreeSentence(
                document=f"doc{place % documents}",
                index=place // documents,
                words=tuple(rng.choice(WORDS, size=size).tolist()),
                heads=np.array(heads, dtype=np.int64),
                relations=tuple(relations),
            )
        )
    return sentences


def made_up_tables(
    sentences: Sequence[TreeSentence], *, heads: int = 3, seed: int = 0, planted: float = 0.0
) -> list[np.ndarray]:
    """Return random rows that sum to 1; head 1 puts the share `planted` on the gold head, for the root on the first
    special token.
    """
    rng = np.random.default_rng(seed)
    tables = []
    for sentence in sentences:
        size = len(sentence) + SPECIAL
        table = rng.random((size, size, heads)) ** 4
        table /= table.sum(1, keepdims=True)
        for word, head in enumerate(sentence.heads.tolist()):
            row = table[word + SPECIAL, :, min(1, heads - 1)]
            row *= 1 - planted
            row[head - 1 + SPECIAL if head else 0] += planted
        tables.append(table.astype(np.float16))
    return tables


def on_disk(folder: Path, tables: Sequence[np.ndarray]) -> WordMaps:
    """Write tables and open them."""
    writer = TableWriter(folder, heads=tables[0].shape[2])
    for number, table in enumerate(tables):
        writer.add(number, table)
    writer.close()
    return WordMaps(folder)


def probe_data(sentences: Sequence[TreeSentence], maps: WordMaps | None, *, control: bool = True) -> ProbeData:
    """Return the sentences in a probe's format; the control task is to point at the first word."""
    tasks = [[sentence.heads for sentence in sentences]]
    if control:
        tasks.append([np.ones(len(sentence), dtype=np.int64) for sentence in sentences])
    return ProbeData(
        words=numbered(sentences, WORDS),
        targets=tasks,
        labels=numbered(sentences, kinds_of(sentences, relations=True), relations=True),
        maps=maps,
        numbers=np.arange(len(sentences)),
    )
