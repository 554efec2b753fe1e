"""What was measured in one run, as pages read it: its manifest, and tables by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from headscope.statistics.measures import of_measure


@dataclass(frozen=True)
class Measured:
    """One run, as the report reads it.

    What every analysis builds on has a name here: the statistics, from which the kinds of attention and the
    roles of heads are read. Every other table is asked for by name, in the folder of the analysis that makes it.

    Attributes:
        manifest: the run's `manifest.json`: signature, kinds, counts, timings, notes.
        tables: the run's tables by name, `stats` and `examples` among them; a study's are read when they are asked
            for.
        roles: `kind layer head role`, and `finds` where the run has what heads can find: the names of the targets at
            which the head is held-out best and beats its baseline with q < 0.05.
        paper: the paper's numbers (`headscope.data/clark2019.json`), or None to leave them out.
        is_bert_base: whether the model is the paper's; only then its numbers stand beside the measured ones.
    """

    manifest: Mapping[str, Any]
    tables: Mapping[str, pd.DataFrame]
    roles: pd.DataFrame
    paper: Mapping[str, Any] | None
    is_bert_base: bool

    def table(self, name: str) -> pd.DataFrame | None:
        """Return a table, None where the run did not make it."""
        return self.tables.get(name)

    @cached_property
    def stats(self) -> pd.DataFrame:
        """The statistics of where heads look; `table` has those of what they write, too.

        `kind layer head measure statistic value ci_low ci_high uniform n`; `layer` and `head` are 1-based, a missing
        head is the layer's mean, shares lie in [0, 1] and entropies are in nats.
        """
        return of_measure(self.tables["stats"])

    @property
    def examples(self) -> pd.DataFrame:
        """The sentences that heads are drawn on.

        `kind layer head behavior value document segment tokens keys weights`; the behavior is a role, or `shared` for
        the sentence that every head's card shows.
        """
        return self.tables["examples"]
