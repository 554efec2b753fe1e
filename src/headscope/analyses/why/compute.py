"""The why stage: scans of a part of the text with the model, with random weights and with sources replaced; tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from headscope.analyses.measurement import Measurement, StageResult, notes_on
from headscope.analyses.why.patching import Chosen, PatchSource
from headscope.analyses.why.pulls import sources_of
from headscope.analyses.why.rows import chosen_sources, pull_table, source_table, with_patches
from headscope.analyses.why.source import PullSource
from headscope.analyses.why.sums import PatchAccumulator, PatchSums, PullAccumulator
from headscope.analyses.why.tables import PAIRS, PULLS, SOURCES
from headscope.encoding.segment import Segment
from headscope.encoding.shards import ShardedBatches, shards
from headscope.scans.prepare.drawn_inputs import DrawnInputs
from headscope.scans.prepare.prepared_run import ModelRun
from headscope.scans.scan_declaration import Scan, ScanSums
from headscope.statistics.inference.confidence import too_few

_SHARD_TOKENS = 1 << 12


@dataclass(frozen=True)
class PullText(DrawnInputs):
    """A part of a run's text, whose scores are decomposed.

    Attributes:
        chosen: returns the sources that are replaced; None to replace none.
        most: largest number of sources of a head on one side that are replaced.
    """

    chosen: Callable[[], Chosen] | None = None
    most: int = 0

    def source(self) -> PullSource:
        """Return the stream of tiles over the inputs."""
        inputs = self.draw()
        known = self.run.over(inputs, control=self.control)
        batches = ShardedBatches(shards(inputs, tokens=_SHARD_TOKENS), batch_size=1)
        model = known.model, known.anatomy, known.vocabulary, batches
        if self.chosen is None:
            return PullSource(*model)
        return PatchSource(*model, chosen=self.chosen, fitting=self.draw, most=self.most)


CONTROL_INPUTS = 16
"""Number of inputs that a model with random weights reads."""
PATCH_INPUTS = 24
"""Number of inputs in which sources are replaced."""
_CONTROL, _PATCHES = "control-0", "patches"


class WhyMeasurement(Measurement[ModelRun]):
    """Decomposes the pull of every head into sources, and replaces the strongest."""

    def __init__(self, run: ModelRun, **more: Any) -> None:
        super().__init__(run, **more)
        self._pulls = PullAccumulator(run.layout)
        self._sources = sources_of(run.layout)

    @cached_property
    def inputs(self) -> list[Segment]:
        """The inputs that are read, spread over the documents."""
        return self.run.sample(self.run.options.why_inputs)

    @cached_property
    def patched_inputs(self) -> list[Segment]:
        """The inputs in which sources are replaced, spread over the documents."""
        return self.run.sample(min(PATCH_INPUTS, self.run.options.why_inputs))

    def scans(self) -> Iterator[Scan]:
        """Yield the scan of the text, one with random weights, and one with sources replaced."""
        run, most = self.run, self.run.options.patch
        inputs = np.array([len(self.inputs), CONTROL_INPUTS * bool(run.controls), PATCH_INPUTS * bool(most)])
        inputs = inputs.clip(max=len(self.inputs))
        pulls, control, patches = inputs.cumsum() / inputs.sum()
        yield Scan(PullText(run, lambda: self.inputs), [self._pulls], label="why", local=most > 0, until=pulls)
        if run.controls:
            corpus = PullText(run, lambda: self.inputs[:CONTROL_INPUTS], control=0)
            yield Scan(corpus, [PullAccumulator(run.layout)], _CONTROL, label="why: control", until=control)
        if most:
            corpus = PullText(run, lambda: self.patched_inputs, chosen=self._chosen, most=most)
            sums = PatchAccumulator(run.layout, most=most)
            yield Scan(corpus, [sums], _PATCHES, label="why: sources replaced", local=True, until=patches)

    def _chosen(self) -> Chosen:
        return chosen_sources(self._pulls.compute(), self._sources, most=self.run.options.patch)

    def compute(self, sums: ScanSums) -> StageResult:
        """Compute the tables."""
        pulls = sums.of(PullAccumulator)
        control = sums.of(PullAccumulator, _CONTROL).compute() if _CONTROL in sums else {}
        results = pulls.compute()
        chosen: Chosen = {}
        patches: Mapping[str, PatchSums] = {}
        if _PATCHES in sums:
            patches = sums.of(PatchAccumulator, _PATCHES).compute()
            chosen = chosen_sources(results, self._sources, most=self.run.options.patch)
        tables: dict[str, list[pd.DataFrame]] = {schema.name: [] for schema in (PULLS, SOURCES, PAIRS)}
        for part in self.run.layout:
            random = control.get(part.kind)
            tables[PULLS.name].append(pull_table(part, results[part.kind], random))
            rows = source_table(part, results[part.kind], random, self._sources)
            if patches:
                rows, pairs = with_patches(part, rows, patches[part.kind], chosen)
                tables[PAIRS.name].append(pairs)
            tables[SOURCES.name].append(rows)
        documents = len({segment.document for segment in self.inputs})
        return StageResult(
            name="why",
            tables={
                schema.name: _joined(tables[schema.name], schema.names) for schema in (PULLS, SOURCES, PAIRS)
            },
            facts={"why": {"inputs": len(self.inputs), "documents": documents}},
            notes=notes_on("why", too_few(documents)),
            state=pulls.state(),
        )  # fmt: skip


def _joined(tables: Sequence[pd.DataFrame], names: Sequence[str]) -> pd.DataFrame:
    some = [table for table in tables if len(table)]
    return pd.concat(some, ignore_index=True)[list(names)] if some else pd.DataFrame(columns=list(names))
