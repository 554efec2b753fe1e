"""The stage: behaviors of every head in text, and those of models with random weights on a part of it."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.behaviors.accumulator import BehaviorAccumulator
from headscope.analyses.behaviors.catalog import NATURAL
from headscope.analyses.behaviors.delimiters import delimiters_of, delimiters_of_tokenizer
from headscope.analyses.behaviors.layout import best_table, heads_table, of_model
from headscope.analyses.behaviors.norm_accumulator import NormBehaviorAccumulator
from headscope.analyses.behaviors.norm_notes import norm_notes
from headscope.analyses.stage_result import StageResult, notes_on
from headscope.encoding.segment import Segment
from headscope.prepare.maps_run import MapsRun
from headscope.prepare.model_run import ModelRun
from headscope.prepare.prepared_run import Run
from headscope.prepare.progress import Watcher, scan_teller
from headscope.prepare.sharded_scan import scan_shards
from headscope.prepare.shared_scan import read_text

CONTROL_INPUTS = 64
"""Inputs that controls read: enough to know what is near chance, so that no control reads the whole corpus."""


def measure_behaviors(run: Run, watch: Watcher | None = None) -> StageResult:
    """Measure every behavior of every head, for the model and its controls.

    Args:
        run: of a model, or of maps, which have no control.
        watch: told of progress.
    """
    sums = scan_trained(run, watch)
    results, seed = sums.compute(), run.options.seed
    heads = [of_model(heads_table(results, NATURAL), "trained")]
    best = [of_model(best_table(results, NATURAL, seed=seed), "trained")]
    for number, control in scan_controls(run, sums.delimiters, watch):
        control_results = control.compute()
        heads.append(of_model(heads_table(control_results, NATURAL), "control", number))
        best.append(of_model(best_table(control_results, NATURAL, seed=seed), "control", number))
    return StageResult(
        name="behaviors",
        tables={
            "behaviors": pd.concat(heads, ignore_index=True),
            "behaviors_best": pd.concat(best, ignore_index=True),
        },
        notes=notes_on("behaviors", *norm_notes(sums)),
        state=sums.state(),
    )


def scan_behaviors(run: Run, watch: Watcher | None = None) -> None:
    """Scan this part's shards, with the trained model and its controls."""
    sums = scan_trained(run, watch)
    for _ in scan_controls(run, sums.delimiters, watch):
        pass


def scan_trained(run: Run, watch: Watcher | None) -> BehaviorAccumulator:
    """Sum over the whole text."""
    (sums,) = behavior_sums(run)
    read_text(run, [sums], stage="behaviors", said="behaviors", watch=watch)
    return sums


def behavior_sums(run: Run) -> tuple[BehaviorAccumulator]:
    """Return the accumulator of the stage, empty, with the delimiters of the run's tokenizer."""
    return (accumulator_of(run),)


def scan_controls(
    run: Run, delimiters: NDArray[np.uint8], watch: Watcher | None
) -> Iterator[tuple[int, BehaviorAccumulator]]:
    """Sum over a part of the text with each model of random weights; yield its number with it.

    Args:
        run: of a model; maps have no control.
        delimiters: `Delimiter` of each token id, `[id]`, as the trained model's sums have them.
        watch: told of progress.
    """
    if not isinstance(run, ModelRun) or not run.options.controls:
        return
    number, segments = run.options.controls, run.sample(CONTROL_INPUTS)
    for seed in range(number):
        sums = NormBehaviorAccumulator(run.layout, delimiters)
        source = run.over(segments, control=seed)
        label = f"behaviors: control {seed + 1} of {number}"
        tell = scan_teller(
            watch, label, partial(_documents, segments), total=_documents(segments), limit=len(segments)
        )
        scan_shards(source, [sums], kept=run.kept, scan_name=f"control-{seed}", progress=tell)
        yield seed, sums


def _documents(segments: Sequence[Segment], done: int | None = None) -> int:
    """Return about how many documents the first inputs are of; the number of all documents when None."""
    documents = len({segment.document for segment in segments})
    return documents if done is None else documents * done // max(1, len(segments))


def accumulator_of(run: Run) -> BehaviorAccumulator:
    """Return an empty accumulator with the delimiters of the run's tokenizer."""
    if isinstance(run, ModelRun):
        return NormBehaviorAccumulator(run.layout, delimiters_of_tokenizer(run.loaded.tokenizer))
    assert isinstance(run, MapsRun)  # which hold no values
    by_word = run.signature["options"]["word_level"] is not None
    return BehaviorAccumulator(run.layout, _delimiters_of_maps(run, by_word=by_word), same_ids=not by_word)


def _delimiters_of_maps(run: MapsRun, *, by_word: bool) -> NDArray[np.uint8]:
    """Read the delimiters from the tokens of the entries; words are none."""
    named: dict[int, str] = {}
    if not by_word:
        for entry in run.entries:
            for side in (entry.input, *([entry.decoder] if entry.decoder is not None else [])):
                named.update(zip(side.ids, side.tokens, strict=True))
    return delimiters_of(named)
