"""The experiments stage: behaviors of every head in each experiment, and of models with random weights."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from heapq import nsmallest
from typing import Any

import pandas as pd

from headscope.analyses.behaviors.catalog import delimiters_of_run
from headscope.analyses.behaviors.compute import model_tables, norm_notes
from headscope.analyses.behaviors.sums import NormBehaviorAccumulator
from headscope.analyses.experiments.inputs import (
    FEWEST_SEQUENCES,
    SEQUENCES,
    needles,
    ordinary_ids,
    repeated_tokens,
    shuffled_words,
    text_of,
)
from headscope.analyses.experiments.sums import CopyAccumulator, RetrievalAccumulator
from headscope.analyses.experiments.tables import EXPERIMENTS, EXPERIMENTS_BEST, EXPERIMENTS_TABLE
from headscope.analyses.measurement import Measurement, StageResult, notes_on
from headscope.encoding.encoder import Frame
from headscope.encoding.segment import Segment
from headscope.models.loading.load_model import longest_input
from headscope.prepare.drawn_inputs import DrawnInputs
from headscope.prepare.prepared_run import ModelRun
from headscope.scans.scan_declaration import Scan, ScanSums
from headscope.statistics.sums.groups import group_of

SHUFFLED_INPUTS = 32
CONTROL_DOCUMENTS = 12
"""Number of documents of each experiment that controls read: random weights are near chance, and need no more."""
_HAYSTACK_INPUTS = 256

_SUMS: Mapping[str, Callable[..., NormBehaviorAccumulator]] = {
    "repeated": CopyAccumulator,
    "needle": RetrievalAccumulator,
    "shuffled": NormBehaviorAccumulator,
}


class ExperimentsMeasurement(Measurement[ModelRun]):
    """Runs each experiment that the model allows, with the model and its controls."""

    @cached_property
    def inputs(self) -> dict[str, list[Segment]]:
        """The inputs of each experiment, generated once for all models."""
        return inputs_of(self.run)

    @cached_property
    def control_inputs(self) -> dict[str, list[Segment]]:
        """The inputs of each experiment that controls read."""
        return {name: control_inputs(segments) for name, segments in self.inputs.items()}

    def scans(self) -> Iterator[Scan]:
        """Yield the scan of each experiment for each model; the scan of an experiment without inputs reads nothing."""
        run, delimiters = self.run, delimiters_of_run(self.run)
        for number in _models(run):
            for name, kind in _SUMS.items():
                corpus = DrawnInputs(run, partial(self._inputs, name, number), control=number, fitted=True)
                label = name if number is None else f"{name}: control {number + 1} of {run.controls}"
                yield Scan(corpus, [kind(run.layout, delimiters)], _scan_name(name, number), label=label)

    def compute(self, sums: ScanSums) -> StageResult:
        """Compute the tables of all heads, and of the best head of each behavior."""
        tables: tuple[list[pd.DataFrame], list[pd.DataFrame]] = ([], [])
        notes = list(_left_out(self.inputs, self.run))
        for number in _models(self.run):
            for name, segments in self.inputs.items():
                if not segments:
                    continue
                filled = sums.of(NormBehaviorAccumulator, _scan_name(name, number))
                if number is None:
                    notes += norm_notes(filled, where=EXPERIMENTS[name].where)
                behaviors, seed = EXPERIMENTS[name].behaviors, self.run.options.seed
                of_experiment = model_tables(filled.compute(), behaviors, number, seed=seed)
                for kept, table in zip(tables, of_experiment, strict=True):
                    kept.append(table.assign(experiment=name))
        return StageResult(
            name="experiments",
            tables={
                schema.name: _concatenated(parts, schema.names)
                for schema, parts in zip((EXPERIMENTS_TABLE, EXPERIMENTS_BEST), tables, strict=True)
            },
            facts={"experiments": {name: facts_of(segments) for name, segments in self.inputs.items()}},
            notes=notes_on("experiments", *dict.fromkeys(notes)),
        )

    def _inputs(self, name: str, number: int | None) -> list[Segment]:
        return (self.inputs if number is None else self.control_inputs)[name]


def _models(run: ModelRun) -> list[int | None]:
    """Return None, for the trained model, and the seeds of the controls."""
    return [None, *range(run.controls)]


def _scan_name(name: str, number: int | None) -> str:
    """Return the name of an experiment's scan."""
    return name if number is None else f"{name}-control-{number}"


def inputs_of(run: ModelRun) -> dict[str, list[Segment]]:
    """Make the inputs of each experiment; none where the model or the text do not allow it."""
    seed, tokenizer = run.options.seed, run.loaded.tokenizer
    frame, longest = Frame.of(run.encoder), longest_input(run.loaded, run.anatomy)
    shuffled = run.sample(SHUFFLED_INPUTS, changed=lambda document: shuffled_words(document, seed=seed))
    sequences = min(max(len(shuffled), FEWEST_SEQUENCES), SEQUENCES)
    special = [int(token_id) for token_id in tokenizer.all_special_ids]
    needle_inputs: list[Segment] = []
    if causal(run):
        text = text_of(run.sample(_HAYSTACK_INPUTS), special)
        needle_inputs = needles(text, frame, longest=longest, seed=seed)
    return {
        "repeated": repeated_tokens(ordinary_ids(tokenizer), frame, longest=longest, seed=seed, number=sequences),
        "needle": needle_inputs,
        "shuffled": shuffled,
    }


def control_inputs(segments: list[Segment]) -> list[Segment]:
    """Return the inputs of an experiment that controls read: those of 12 documents, drawn by a hash of their ids."""
    documents = {segment.document for segment in segments}
    drawn = set(nsmallest(CONTROL_DOCUMENTS, documents, key=lambda document: (group_of(document), document)))
    return [segment for segment in segments if segment.document in drawn]


def causal(run: ModelRun) -> bool:
    """Return True if the model is a decoder without an encoder."""
    return [part.kind for part in run.layout] == ["decoder"]


def facts_of(segments: list[Segment]) -> dict[str, Any]:
    """Return the manifest's facts on an experiment's inputs."""
    return {
        "inputs": len(segments),
        "documents": len({segment.document for segment in segments}),
        "tokens": sum(map(len, segments)),
        "longest": max(map(len, segments), default=0),
    }


def _concatenated(parts: list[pd.DataFrame], names: list[str]) -> pd.DataFrame:
    return pd.concat(parts, ignore_index=True)[names] if parts else pd.DataFrame(columns=names)


def _left_out(inputs: Mapping[str, list[Segment]], run: ModelRun) -> Iterator[str]:
    """Yield notes on experiments that could not be done, except needles for a model that is not a decoder."""
    if not inputs["repeated"]:
        yield "no random tokens were repeated, for the model reads too little"
    if not inputs["needle"] and causal(run):
        yield "no needle was hidden, for the text is too short or the model reads too little"
