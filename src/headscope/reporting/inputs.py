"""What the report needs to know of one run: the manifest, the tables, and the paper's numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd


@dataclass(frozen=True)
class ReportInputs:
    """One run, as the report reads it.

    Attributes:
        manifest: the run's `manifest.json`: signature, kinds, counts, timings, notes.
        surface: `tables/surface.parquet`: `kind layer head statistic value ci_low ci_high uniform n`; `layer` and
            `head` are 1-based, a missing head is the layer's mean, shares lie in [0, 1] and entropies are in nats.
        roles: `kind layer head role`.
        examples: `tables/examples.parquet`: `kind layer head behaviour value document segment tokens keys weights`;
            the behaviour is a role, or `shared` for the sentence that every head's card shows.
        paper: the paper's numbers (`headscope.data/clark2019.json`), or None to leave them out.
        is_bert_base: whether the model is the paper's; only then its numbers stand beside the measured ones.
    """

    manifest: Mapping[str, Any]
    surface: pd.DataFrame
    roles: pd.DataFrame
    examples: pd.DataFrame
    paper: Mapping[str, Any] | None
    is_bert_base: bool
