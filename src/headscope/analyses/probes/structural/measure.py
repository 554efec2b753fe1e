"""The structural probe on every layer of a model: how much of the trees can be recovered from its word vectors."""

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from headscope.analyses.probes.structural.layer_training import (
    SentenceBatches,
    StructuralOptions,
    StructuralProbe,
    train_structural,
)
from headscope.analyses.probes.structural.state_store import StateStore, share_of, split_held_out
from headscope.analyses.probes.structural.tree_scores import MEASURES, Scores, StructuralScorer, structural_scores
from headscope.analyses.probes.tables import PROBE_LAYERS, PROBES, STRUCTURAL
from headscope.attention.word_rows import WordStates
from headscope.encoding.segment import Segment
from headscope.errors import InputError, OutputError
from headscope.statistics.inference.confidence import difference_interval, ends_of
from headscope.storage.lock import scratch

MOST_BYTES = 4 << 30
TRAINING = "structural probe"
"""The label of the progress line."""
_LEAST_SHARE = 0.02

StateReader = Callable[[Iterable[Segment]], Iterable[WordStates]]
Teller = Callable[[str, int, int | None], None]
Sums = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class StructuralTables:
    """The tables of the structural probe.

    Attributes:
        probes: rows for `probes.parquet`: the chosen layer, each seed and their mean (`seed` null), UUAS and Spearman.
        layers: `probe_layers.parquet`: every layer with the first seed; 0 is the embeddings. `held_out` is the same
            measure on the held-out part of train; its UUAS selects the layer.
        difference: a row for `probe_differences.parquet`: UUAS of the chosen layer minus UUAS of the embeddings, with
            the first seed.
        facts: `layer`: the chosen layer; `sentences`: number of training sentences; `sampled`: share of train that was
            sampled; `settled`: True if the loss of every probe had stopped falling.
    """

    probes: pd.DataFrame
    layers: pd.DataFrame
    difference: pd.DataFrame
    facts: dict[str, Any]


def measure_structural(
    read: StateReader,
    *,
    train: Iterable[Segment],
    dev: Iterable[Segment],
    words: int,
    seeds: int,
    seed: int = 0,
    options: StructuralOptions | None = None,
    most_bytes: int = MOST_BYTES,
    folder: Path | None = None,
    device: torch.device | str = "cpu",
    tell: Teller | None = None,
) -> StructuralTables:
    """Train the probe on every layer and score it on other sentences.

    All layers are trained with the first seed; the layer with the best UUAS on a tenth of the train documents, which
    also decides when to stop, is trained with the other seeds too. Vectors are kept on disk as float16 while this runs;
    if train needs more than `most_bytes` or half of the free space, a seeded sample of its sentences is used.

    Args:
        read: function that returns segments' vectors, as `attention.word_rows.word_states` does.
        train: sentences with `heads` and `relns` among their fields.
        dev: other sentences, to score on.
        words: approximate number of words in train.
        seeds: number of probes trained on the chosen layer.
        seed: seed of the held-out split and of the sample; the probes' own seeds follow it.
        options: options for the training of the probes.
        most_bytes: limit on the disk space for train's vectors.
        folder: folder for these vectors; the system's temporary folder when None.
        device: device on which the probes are trained.
        tell: callback with the label, the amount done, and the total where it is known.

    Raises:
        InputError: train has fewer than two sentences, or dev has none.
        OutputError: the disk has room for less than a fiftieth of train.
    """
    say = tell or (lambda what, done, total: None)
    with scratch(Path(tempfile.gettempdir()) if folder is None else folder, "headscope") as base:
        base.mkdir()
        (store, dev_store), share = _fill(
            read, train, dev, base, words=words, seed=seed, most_bytes=most_bytes, say=say
        )
        trained, held_out = split_held_out(store.sentences, seed=seed)
        settings, total, settled = options or StructuralOptions(), store.layers + seeds - 1, list[bool]()
        batches, held_out_batches = (
            SentenceBatches(sentences, batch_size=settings.batch_size) for sentences in (trained, held_out)
        )
        on_dev, on_held_out = (dev_store, StructuralScorer(dev_store.sentences)), (store, StructuralScorer(held_out))

        def trained_on(layer: int, number: int = 0) -> StructuralProbe:
            say(TRAINING, len(settled), total)
            probe = train_structural(
                store, layer, batches=batches, held_out=held_out_batches, seed=seed + number, options=settings,
                device=device,
            )  # fmt: skip
            settled.append(probe.settled)
            return probe

        def scores(probe: StructuralProbe, layer: int, scored: StateStore, scorer: StructuralScorer) -> Sums:
            vectors = scored.layer(layer)
            return scorer.sums(lambda rows: probe.distances(vectors[rows]))

        first: list[Sums] = []
        held_out_scores = []
        for layer in range(store.layers):
            probe = trained_on(layer)
            first.append(scores(probe, layer, *on_dev))
            held_out_scores.append(structural_scores([scores(probe, layer, *on_held_out)]))
        chosen = int(np.argmax(np.nan_to_num([each["UUAS"]["value"] for each in held_out_scores], nan=-1.0)))
        others = [scores(trained_on(chosen, number), chosen, *on_dev) for number in range(1, seeds)]
        say(TRAINING, total, total)
    return StructuralTables(
        probes=_probe_rows([first[chosen], *others], chosen),
        layers=_layer_rows(first, held_out_scores, chosen),
        difference=layer_difference(first[chosen], first[0]),
        facts={"layer": chosen, "sentences": len(store.sentences), "sampled": share, "settled": all(settled)},
    )


def _fill(
    read: StateReader,
    train: Iterable[Segment],
    dev: Iterable[Segment],
    base: Path,
    *,
    words: int,
    seed: int,
    most_bytes: int,
    say: Teller,
) -> tuple[tuple[StateStore, StateStore], float]:
    """Write the vectors of both corpora; return the stores, and the share of train's sentences that was sampled."""
    coming = iter(train)
    first = list(islice(coming, 1))
    shape = next(iter(read(first))).vectors.shape if first else (0, 0, 0)
    needed = 2 * words * shape[0] * shape[2]
    room = min(most_bytes, shutil.disk_usage(base).free // 2)
    share = 1.0 if needed <= room else room / needed
    if share < _LEAST_SHARE:
        raise OutputError(
            f"the structural probe needs {needed / 2**30:.1f} GiB for the vectors of train, and there is room for "
            f"{room / 2**30:.1f} GiB in {base.parent}; free some, raise the limit, or take a smaller treebank"
        )
    taken = (
        segment for segment in chain(first, coming) if share_of(segment.document, segment.index, seed=seed) <= share
    )
    stores: list[StateStore] = []
    for name, segments in (("train", taken), ("dev", dev)):
        (base / name).mkdir()
        scales = stores[0].scales if stores else None
        states = _with_progress(read(segments), f"vectors of {name}", say)
        stores.append(StateStore(base / name, scales=scales).fill(states))
    for store, name, least in zip(stores, ("train", "dev"), (2, 1), strict=True):
        if len(store.sentences) < least:
            raise InputError(
                f"expected at least {least} sentence{'s' if least > 1 else ''} of {name} for the structural "
                f"probe, came {len(store.sentences)}; give a larger treebank"
            )
    return (stores[0], stores[1]), share


def _with_progress(states: Iterable[WordStates], what: str, say: Teller) -> Iterator[WordStates]:
    for done, state in enumerate(states):
        if done % 256 == 0:
            say(what, done, None)
        yield state


def _probe_rows(every: Sequence[Sums], layer: int) -> pd.DataFrame:
    """Return the rows of the chosen layer's scores: one for each seed and measure, and the mean over seeds."""
    single = [structural_scores([sums]) for sums in every]
    mean = structural_scores(every)
    probe = {"probe": STRUCTURAL, "model": "trained", "vectors": f"layer {layer}"}
    rows: list[dict[str, Any]] = []
    for measure in MEASURES:
        for number, scores in enumerate(single):
            rows.append({**probe, "measure": measure, "seed": number, **scores[measure]})
        values = [scores[measure]["value"] for scores in single]
        spread = float(np.std(values, ddof=1)) if len(values) > 1 else np.nan
        rows.append({**probe, "measure": measure, **mean[measure], "spread": spread})
    return PROBES.frame(rows)


def _layer_rows(first: Sequence[Sums], held_out_scores: Sequence[Scores], chosen: int) -> pd.DataFrame:
    """Return the rows of every layer's scores with the first seed."""
    rows = []
    for layer, (sums, held_out) in enumerate(zip(first, held_out_scores, strict=True)):
        for name, scores in structural_scores([sums]).items():
            row = {"layer": layer, "measure": name, **scores}
            rows.append({**row, "held_out": held_out[name]["value"], "chosen": layer == chosen})
    return pd.DataFrame(rows, columns=PROBE_LAYERS.names)


def layer_difference(chosen: Sums, embeddings: Sums) -> pd.DataFrame:
    """Compare the arcs recovered from two layers, document by document."""
    sides = (chosen["hits"], chosen["arcs"], embeddings["hits"], embeddings["arcs"])
    gap = difference_interval(*sides, answers=True)
    row = {
        "probe": STRUCTURAL, "model": "trained", "than_probe": "embeddings", "than_model": "trained", "measure": "UUAS",
        "n_cases": int(chosen["arcs"].sum()), **ends_of(gap, (), "difference"),
    }  # fmt: skip
    return pd.DataFrame([row])
