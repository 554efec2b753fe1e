"""The behaviors stage: behaviors of every head in text, and of models with random weights on a part of the text."""

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.behaviors.catalog import NATURAL
from headscope.analyses.behaviors.copy_examples import copy_examples
from headscope.analyses.behaviors.delimiters import delimiters_of, delimiters_of_run
from headscope.analyses.behaviors.layout import model_tables
from headscope.analyses.behaviors.norm_notes import norm_notes
from headscope.analyses.behaviors.sums.accumulator import BehaviorAccumulator
from headscope.analyses.behaviors.sums.norm_accumulator import NormBehaviorAccumulator
from headscope.analyses.behaviors.tables import BEHAVIORS_BEST, BEHAVIORS_TABLE, COPY_EXAMPLES
from headscope.analyses.measurement import Measurement
from headscope.analyses.stage_result import StageResult, notes_on
from headscope.encoding.segment import Segment
from headscope.prepare.drawn_inputs import DrawnInputs
from headscope.prepare.maps_run import MapsRun
from headscope.prepare.model_run import ModelRun
from headscope.prepare.prepared_run import Run
from headscope.scans.scan_declaration import RunText, Scan, ScanSums

FEW_INPUTS = 64
"""Number of inputs that controls read: enough for values near chance, so that no control reads the whole corpus."""


class BehaviorsMeasurement(Measurement[Run]):
    """Measures every behavior of every head, for the model and its controls; saved maps have no controls."""

    @cached_property
    def few_inputs(self) -> list[Segment]:
        """The part of the text that controls read, and from which examples are chosen; drawn once."""
        assert isinstance(self.run, ModelRun)
        return self.run.sample(FEW_INPUTS)

    def scans(self) -> Iterator[Scan]:
        """Yield the scan of the text, and the scans of a part of it with random weights."""
        run, trained = self.run, accumulator_of(self.run)
        yield Scan(RunText(run), [trained], label="behaviors")
        if not isinstance(run, ModelRun):
            return
        for seed in range(run.controls):
            inputs = DrawnInputs(run, lambda: self.few_inputs, control=seed)
            control = NormBehaviorAccumulator(run.layout, trained.delimiters)
            label = f"behaviors: control {seed + 1} of {run.controls}"
            yield Scan(inputs, [control], f"control-{seed}", label=label)

    def compute(self, sums: ScanSums) -> StageResult:
        """Compute the tables of all heads, and of the best head of each behavior; a few inputs are read again."""
        trained, seed = sums.of(BehaviorAccumulator), self.run.options.seed
        tables = [model_tables(trained.compute(), NATURAL, None, seed=seed)]
        for number in range(len(sums) - 1):
            control = sums.of(BehaviorAccumulator, f"control-{number}")
            tables.append(model_tables(control.compute(), NATURAL, number, seed=seed))
        heads, best = (pd.concat(of_models, ignore_index=True) for of_models in zip(*tables, strict=True))
        examples = pd.DataFrame(columns=COPY_EXAMPLES.names)  # saved maps have no examples
        if isinstance(self.run, ModelRun):
            examples = copy_examples(self.run, self.few_inputs)
        return StageResult(
            name="behaviors",
            tables={
                "behaviors": heads[BEHAVIORS_TABLE.names],
                "behaviors_best": best[BEHAVIORS_BEST.names],
                "copy_examples": examples,
            },
            notes=notes_on("behaviors", *norm_notes(trained)),
            state=trained.state(),
        )


def accumulator_of(run: Run) -> BehaviorAccumulator:
    """Return an empty accumulator with the delimiters of the run's tokenizer."""
    if isinstance(run, ModelRun):
        return NormBehaviorAccumulator(run.layout, delimiters_of_run(run))
    assert isinstance(run, MapsRun)  # saved maps hold no values, so that norms are not known
    by_word = run.signature["options"]["word_level"] is not None
    return BehaviorAccumulator(run.layout, _delimiters_of_maps(run, by_word=by_word), same_ids=not by_word)


def _delimiters_of_maps(run: MapsRun, *, by_word: bool) -> NDArray[np.uint8]:
    """Read the delimiters from the tokens of the entries; words are not delimiters."""
    named: dict[int, str] = {}
    if not by_word:
        for entry in run.entries:
            for side in (entry.input, *([entry.decoder] if entry.decoder is not None else [])):
                named.update(zip(side.ids, side.tokens, strict=True))
    return delimiters_of(named)
