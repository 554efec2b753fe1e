"""Tables of the right answers of probes, with intervals over documents; their differences; the weights of heads."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.probes.parsers.attention_probes import DIRECTIONS
from headscope.analyses.probes.tables import (
    PROBE_BY_DISTANCE,
    PROBE_DIFFERENCES,
    PROBE_RELATIONS,
    PROBE_WEIGHTS,
    PROBES,
)
from headscope.analyses.probes.tree_sentences import TreeSentence, is_punctuation
from headscope.attention.head_id import HeadId
from headscope.statistics.inference.confidence import difference_interval, ends_of, ratio_interval
from headscope.statistics.sums.groups import group_numbers
from headscope.statistics.tables.frames import DISTANCES, FEWEST_ARCS, distance_bins
from headscope.statistics.tables.table_schema import TableSchema


@dataclass(frozen=True, eq=False)
class GoldWords:
    """All words of a treebank that probes are scored on, concatenated.

    Attributes:
        groups: index of each word's document, or group of documents, `[word]`.
        number_of_groups: number of groups.
        relations: relation of each word to its head, `[word]`.
        distances: index in `DISTANCES` of the distance to its head, -1 for the root, `[word]`.
        heads: position of its head, from 1; 0 for the root, `[word]`.
        counted: False for punctuation, which UAS excludes, `[word]`.
    """

    groups: NDArray[np.int64]
    number_of_groups: int
    relations: NDArray[Any]
    distances: NDArray[np.int64]
    heads: NDArray[np.int64]
    counted: NDArray[np.bool_]

    @classmethod
    def of(cls, sentences: Sequence[TreeSentence]) -> "GoldWords":
        """Collect the words of sentences; each document is a group unless there are more than 256."""
        groups = group_numbers([s.document for s in sentences])
        heads = np.concatenate([s.heads for s in sentences])
        steps = np.concatenate([np.abs(s.heads - 1 - np.arange(len(s))) for s in sentences])
        relations = np.array([name for s in sentences for name in s.relations])
        return cls(
            groups=np.repeat(groups, [len(s) for s in sentences]),
            number_of_groups=int(groups.max()) + 1,
            relations=relations,
            distances=np.where(heads == 0, -1, distance_bins(steps)),
            heads=heads,
            counted=np.array([not is_punctuation(name) for name in relations.tolist()], dtype=bool),
        )


@dataclass(frozen=True, eq=False)
class ProbeAnswers:
    """The right answers of one probe on one model.

    Attributes:
        probe: name of the probe in tables.
        model: `trained` or `control`.
        vectors: name of the word vectors; None for probes without word vectors.
        right: for each measure, the right answers of each seed's probe, `[seed, word]`; for selectivity, a difference
            of two such arrays. A probe without seeds has one row.
        seeded: True if the rows are seeds.
    """

    probe: str
    model: str
    vectors: str | None
    right: dict[str, NDArray[np.float64]]
    seeded: bool = True


def probe_rows(answers: ProbeAnswers, gold: GoldWords) -> pd.DataFrame:
    """Return the rows of `probes.parquet`: each measure for every seed, and for the mean over seeds.

    `spread` is the standard deviation over seeds, in the row of the mean; NaN for a single seed.

    Args:
        answers: answers of one probe.
        gold: the words that were scored.
    """
    rows: list[dict[str, Any]] = []
    groups = gold.groups[gold.counted]
    counts = np.bincount(groups, minlength=gold.number_of_groups)
    for measure, right in answers.right.items():
        lines = np.concatenate([right, right.mean(0, keepdims=True)])
        sums = np.zeros((gold.number_of_groups, len(lines)))
        np.add.at(sums, groups, lines[:, gold.counted].T)
        interval = ratio_interval(sums, counts[:, None], scale="real" if measure == "selectivity" else "share")
        values = interval.value[:-1]
        row = {"measure": measure, "n_cases": len(groups), "spread": np.nan}
        rows += [{**row, "seed": seed, **ends_of(interval, seed)} for seed in range(len(right)) if answers.seeded]
        spread = float(values.std(ddof=1)) if len(values) > 1 else np.nan
        rows.append({**row, "seed": None, "spread": spread, **ends_of(interval, -1)})
    return _with_probe(PROBES.frame(rows), answers)


def relation_rows(answers: ProbeAnswers, gold: GoldWords) -> pd.DataFrame:
    """Return the rows of `probe_relations.parquet`: UAS of each relation with 100 arcs, means over seeds.

    Punctuation is excluded from UAS and has no row; the root has one.
    """
    names, codes = np.unique(gold.relations, return_inverse=True)
    counts = np.bincount(codes[gold.counted], minlength=len(names))
    frequent = sorted(
        (at for at in range(len(names)) if counts[at] >= FEWEST_ARCS), key=lambda at: (-counts[at], str(names[at]))
    )
    return _classes(answers, gold, codes, [str(name) for name in names], frequent, schema=PROBE_RELATIONS)


def distance_rows(answers: ProbeAnswers, gold: GoldWords) -> pd.DataFrame:
    """Return the rows of `probe_by_distance.parquet`: UAS by the gold head's distance, means over seeds.

    The root has no distance, and punctuation is excluded from UAS.
    """
    return _classes(answers, gold, gold.distances, DISTANCES, range(len(DISTANCES)), schema=PROBE_BY_DISTANCE)


def _classes(
    answers: ProbeAnswers,
    gold: GoldWords,
    codes: NDArray[np.int64],
    names: Sequence[str],
    chosen: Sequence[int],
    *,
    schema: TableSchema,
) -> pd.DataFrame:
    """Return UAS within classes of words; `codes` is the class index of each word, -1 for none."""
    is_counted = gold.counted & (codes >= 0)
    cells, size = gold.groups[is_counted] * len(names) + codes[is_counted], gold.number_of_groups * len(names)
    right = answers.right["UAS"].mean(0)[is_counted]
    sums, counts = (np.bincount(cells, each, size).reshape(-1, len(names)) for each in (right, None))
    interval = ratio_interval(sums, counts, scale="share")
    (column,) = {"relation", "distance"} & set(schema.names)
    rows = [{column: names[at], "n_cases": int(counts[:, at].sum()), **ends_of(interval, at)} for at in chosen]
    return _with_probe(pd.DataFrame(rows, columns=schema.names), answers)


def _with_probe(table: pd.DataFrame, answers: ProbeAnswers) -> pd.DataFrame:
    return table.assign(probe=answers.probe, model=answers.model, vectors=answers.vectors)


def probe_differences(answers: Sequence[ProbeAnswers], gold: GoldWords) -> pd.DataFrame:
    """Return `probe_differences.parquet`: UAS of each probe minus UAS of each other probe, means over seeds.

    Args:
        answers: the answers of all probes on the same words.
        gold: the words that were scored.
    """
    groups, size = gold.groups[gold.counted], gold.number_of_groups
    words = np.bincount(groups, minlength=size)
    right = [np.bincount(groups, answer.right["UAS"].mean(0)[gold.counted], size) for answer in answers]
    rows = []
    for (first, ours), (second, theirs) in combinations(zip(answers, right, strict=True), 2):
        gap = difference_interval(ours, words, theirs, words, answers=True)
        names = (first.probe, first.model, second.probe, second.model, "UAS")
        rows.append((*names, int(words.sum()), *ends_of(gap, (), "difference").values()))
    return pd.DataFrame(rows, columns=PROBE_DIFFERENCES.names)


def gold_arcs(
    sentences: Iterable[TreeSentence], words: Iterable[NDArray[np.int64]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the word types of the head and of the dependent of every arc between words, `[arc]` each.

    Args:
        sentences: the trees.
        words: index of each word's type, `[word]` for each sentence.
    """
    heads, dependents = [], []
    for sentence, types in zip(sentences, words, strict=True):
        arcs = sentence.heads > 0
        heads.append(types[sentence.heads[arcs] - 1])
        dependents.append(types[arcs])
    return np.concatenate(heads), np.concatenate(dependents)


def weight_rows(probe: str, weights: NDArray[np.float64], heads: Sequence[HeadId]) -> pd.DataFrame:
    """Return the rows of `probe_weights.parquet` for one probe.

    Args:
        probe: name of the probe in tables.
        weights: `[direction, head]`.
        heads: names of the heads, in the order of the weights.
    """
    rows = [
        (probe, head.kind, head.layer, head.head, direction, float(weights[row, at]))
        for at, head in enumerate(heads)
        for row, direction in enumerate(DIRECTIONS)
    ]
    return pd.DataFrame(rows, columns=PROBE_WEIGHTS.names)
