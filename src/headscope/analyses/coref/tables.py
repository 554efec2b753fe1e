"""The tables of coreference heads and of GAP (section 4.3): their schemas, and their rows from counts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.coref.baselines import BASELINES
from headscope.analyses.coref.gap import GAP_BASELINES, GAP_MEASURES, GENDERS, GapSums
from headscope.analyses.coref.mentions import MENTION_TYPES
from headscope.analyses.coref.sums import CoreferenceSums
from headscope.scans.examples.example_tables import ARC_EXAMPLES
from headscope.statistics.inference.confidence import Interval, ends_of, ratio_interval
from headscope.statistics.inference.derived import cross_fitted_difference
from headscope.statistics.inference.selection import Chosen, both_ways, selection_margin
from headscope.statistics.inference.significance import selection_p
from headscope.statistics.tables.columns import (
    KIND,
    PLACE,
    Q_VALUE,
    count,
    difference,
    on_all_documents,
    share,
    shares,
    text,
)
from headscope.statistics.tables.table_schema import Column, TableSchema

_N_MENTIONS = count("n_mentions", "mentions")
_NONE = "no such mention"
_MODELS = ("trained", "control", "baseline")
_NOT_CHOSEN = "not held out"
_HELD_OUT = "mentions found by the heads that the other documents selected"
_SEED = Column("seed", "which of the random weights", "Int64", missing="not of random weights")
_TYPE = text("mention_type", "type of mention", choices=MENTION_TYPES)
# Systems without attention have no head.
_NO_HEAD = "not a head"
_LAYER_AND_HEAD = tuple(replace(column, dtype="Int64") for column in PLACE[1:])
_PLACE = tuple(replace(column, missing=_NO_HEAD) for column in (KIND, *_LAYER_AND_HEAD))
_SELECTION = text("selection", "how the head was chosen", missing=_NO_HEAD, choices=("held-out", "same-data"))

COREF = TableSchema(
    name="coref",
    meaning="Accuracy of the best head over all mentions at finding an antecedent, with systems that use no attention.",
    columns=(
        text("model", "the trained model, one with random weights, or none", choices=_MODELS),
        *(_SEED, _SELECTION),
        text("system", "what answers", choices=("head", *BASELINES)),
        *_PLACE,
        share("share", "halves of the documents that choose this head", missing=_NOT_CHOSEN),
        *(_TYPE, _N_MENTIONS),
        *shares(
            "accuracy",
            "mentions whose antecedent is found: in documents that did not select the head (cross-fitted); "
            "`same-data` and systems without attention: in all documents",
            missing=_NONE,
        ),
        *on_all_documents(missing=_NOT_CHOSEN),
        *shares("held_out", _HELD_OUT, prefix="held_out_", missing=_NOT_CHOSEN),
        Q_VALUE,
    ),
    key=("model", "seed", "selection", "system", "mention_type"),
)

COREF_HEADS = TableSchema(
    name="coref_heads",
    meaning="How often every head finds an antecedent, by type of mention.",
    columns=(
        text("model", "the trained model, or one with random weights", choices=("trained", "control")),
        *(_SEED, KIND, *_LAYER_AND_HEAD, _TYPE, _N_MENTIONS),
        *shares("accuracy", "mentions whose antecedent is found", missing=_NONE),
    ),
    key=("model", "seed", "kind", "layer", "head", "mention_type"),
)

COREF_DIFFERENCES = TableSchema(
    name="coref_differences",
    meaning="Differences on the same documents: the selected head minus each baseline, minus itself on another type "
    "of mention, and the selection minus the selection on random weights.",
    columns=(
        _TYPE,
        text("system", "the first of the two that are compared", choices=("head", "selection")),
        text("than", "the second of the two that are compared", choices=(*BASELINES, "head", "control")),
        text("than_type", "another type of mention", missing="the same type", choices=MENTION_TYPES),
        *(_SEED, _N_MENTIONS),
        *difference("accuracy of the first minus accuracy of the second", missing=f"{_NONE}, or {_NOT_CHOSEN}"),
    ),
    key=("mention_type", "system", "than", "than_type", "seed"),
)

COREF_EXAMPLES = replace(ARC_EXAMPLES, name="coref_examples")

GAP = TableSchema(
    name="gap",
    meaning="Share of pronouns that the best head resolves to the right one of two names, with baselines.",
    columns=(
        text("system", "what answers", choices=("head", *GAP_BASELINES)),
        _SELECTION,
        *_PLACE,
        text("gender", "of the pronoun", choices=GENDERS),
        text("measure", "accuracy on rows with a right name, or F1 on all", choices=GAP_MEASURES),
        count("n_cases", "rows of GAP"),
        *shares(
            "value",
            "the measure: of a head on rows that did not choose it (cross-fitted); `same-data`, and of baselines: on "
            "all",
            missing="no such row",
        ),
        *on_all_documents(missing=_NOT_CHOSEN),
    ),
    key=("system", "selection", "gender", "measure"),
)

TABLES = (COREF, COREF_HEADS, COREF_DIFFERENCES, COREF_EXAMPLES)
GAP_TABLES = (GAP,)


_HEAD = ("kind", "layer", "head")
_STRONGEST = (BASELINES.index("head match, else nearest"), BASELINES.index("nearest"))


class CoreferenceResult:
    """The counts of one model, prepared for tables.

    Args:
        sums: result of `CoreferenceAccumulator.compute`.
        model: `trained` or `control`.
        control_seed: index of the control; None for the trained model.
        seed: seed of the splits, and of the orders of documents in tests.

    Attributes:
        candidates: (kind, layer, head) of every head, in the order of the arrays.
        hits: `[group, candidate, MENTION_TYPES]`.
        counts: `[group, MENTION_TYPES]`.
    """

    def __init__(
        self, sums: Sequence[CoreferenceSums], *, model: str = "trained", control_seed: int | None = None, seed: int = 0
    ) -> None:
        self.model, self.control_seed, self.seed = model, control_seed, seed
        self.candidates, self.hits = _by_candidate({part.kind: part.hits for part in sums})
        self.counts = sums[0].counts
        self.fixed = sums[0].baselines

    def heads(self) -> pd.DataFrame:
        """Return `coref_heads.parquet`: the accuracy of every head for every type of mention."""
        interval = ratio_interval(self.hits, self.counts[:, None], scale="share")
        return COREF_HEADS.frame(
            row
            for c, head in enumerate(self.candidates)
            for row in self._by_type(
                interval, (c,), "accuracy", model=self.model, seed=self.control_seed, **dict(zip(_HEAD, head))
            )
        )

    @cached_property
    def chosen(self) -> dict[str, Chosen]:
        """The head that is best over all mentions, by kind of selection; it represents all types, as in table 2."""
        return both_ways(self.hits, self.counts, by=0, seed=self.seed)

    def systems(self) -> pd.DataFrame:
        """Return `coref.parquet`: the head that is best over all mentions, and the baselines without attention.

        `accuracy` is the named head's accuracy on documents that did not select it
        (`derived.cross_fitted`), `all_documents` its accuracy on all, `held_out` the accuracy of the
        selection. q, in the held-out row for all mentions, tests that the selection beats both `nearest` and `head
        match, else nearest`.
        """
        rows: list[dict[str, Any]] = []
        for selection, chosen in self.chosen.items():
            model = {"model": self.model, "seed": self.control_seed, "system": "head", "selection": selection}
            q = self._selection_q() if selection == "held-out" else np.nan
            for t, row in enumerate(self._by_type(chosen.value, (), "accuracy", **model)):
                index = int(chosen.candidate[t])
                if index >= 0:
                    head = dict(zip(_HEAD, self.candidates[index]))
                    tested = {"q_value": q if t == 0 else np.nan}
                    rows.append({**row, **head, **chosen.columns(t), **tested})
        if self.model == "trained":
            interval = ratio_interval(self.fixed, self.counts[:, None], scale="share")
            for b, system in enumerate(BASELINES):
                rows += self._by_type(interval, (b,), "accuracy", model="baseline", system=system)
        return COREF.frame(rows)

    def best(self) -> tuple[str, int, int] | None:
        """Return the head that held-out selection chooses, or None where nothing was counted."""
        chosen = self.chosen["held-out"].candidate[0]
        return None if chosen < 0 else self.candidates[int(chosen)]

    def differences(self) -> pd.DataFrame:
        """Return rows of `coref_differences.parquet`: the named head minus each baseline, and type minus type.

        Both sides use the same documents, those that did not select the head, and the same mentions.
        """
        chosen = self.chosen["held-out"]
        if (chosen.candidate < 0).all():
            return COREF_DIFFERENCES.frame(())
        hits = self.hits[:, chosen.candidate[0]]
        times = chosen.scores.sum(0)
        rows: list[dict[str, Any]] = []
        for b, system in enumerate(BASELINES):
            gap = cross_fitted_difference(hits, self.counts, self.fixed[:, b], self.counts, times)
            rows += self._by_type(gap, (), "difference", system="head", than=system)
        for first, second in combinations(range(1, len(MENTION_TYPES)), 2):
            sides = [(hits[:, [t]], self.counts[:, [t]]) for t in (first, second)]
            gap = cross_fitted_difference(*sides[0], *sides[1], times[:, [0]])
            types = {"mention_type": MENTION_TYPES[first], "than_type": MENTION_TYPES[second]}
            number = int(self.counts[:, [first, second]].sum())
            ends = ends_of(gap, 0, "difference")
            rows.append({**types, "system": "head", "than": "head", "n_mentions": number, **ends})
        return COREF_DIFFERENCES.frame(rows)

    def against(self, other: "CoreferenceResult") -> pd.DataFrame:
        """Return rows of `coref_differences.parquet`: this model's selection minus a control's, in the same splits."""
        if len(other.counts) != len(self.counts):
            return COREF_DIFFERENCES.frame(())
        gap = selection_margin(self.chosen["held-out"], other.chosen["held-out"], self.counts)
        beside = {"system": "selection", "than": other.model, "seed": other.control_seed}
        return COREF_DIFFERENCES.frame(self._by_type(gap, (), "difference", **beside))

    def _selection_q(self) -> float:
        """Return q of the selection against the strongest baselines, which equals p for one test; NaN for controls."""
        if self.model != "trained":
            return np.nan
        strongest = self.fixed[:, _STRONGEST, :1]
        return float(selection_p(self.hits[:, :, :1], strongest, self.counts[:, :1], seed=self.seed)[0])

    def _by_type(self, interval: Interval, index: tuple[int, ...], value: str, **more: Any) -> list[dict[str, Any]]:
        """Return a row for each type of mention: interval bounds at an index, then by type."""
        number = self.counts.sum(0).tolist()
        return [
            {**more, "mention_type": name, "n_mentions": number[t], **ends_of(interval, (*index, t), value)}
            for t, name in enumerate(MENTION_TYPES)
        ]


def gap_table(sums: Sequence[GapSums], *, seed: int = 0) -> pd.DataFrame:
    """Return `gap.parquet`: the best head by accuracy on all rows, held-out and on the same data, and baselines."""
    first = sums[0]
    candidates, right = _by_candidate({part.kind: part.right for part in sums})
    rows: list[dict[str, Any]] = []
    for measure, cases in zip(GAP_MEASURES, (first.true, first.rows), strict=True):
        number = cases.sum(0).tolist()
        cells = [{"measure": measure, "gender": name, "n_cases": number[g]} for g, name in enumerate(GENDERS)]
        hits, totals = first.ratio(right, measure)
        # The selected head is the same for both measures, because F1 is a multiple of the same hits.
        for selection, chosen in both_ways(hits, totals, by=0, seed=seed).items():
            if chosen.candidate[0] < 0:
                continue
            head = dict(zip(_HEAD, candidates[int(chosen.candidate[0])]))
            system = {"system": "head", "selection": selection, **head}
            rows += [
                {**system, **cell, **ends_of(chosen.value, g), **chosen.columns(g)} for g, cell in enumerate(cells)
            ]
        fixed, totals = first.ratio(first.baselines, measure)
        interval = ratio_interval(fixed, totals[:, None], scale="share")
        for b, baseline in enumerate(GAP_BASELINES):
            rows += [{"system": baseline, **cell, **ends_of(interval, (b, g))} for g, cell in enumerate(cells)]
    return GAP.frame(rows)


def _by_candidate(tables: Mapping[str, NDArray[Any]]) -> tuple[list[tuple[str, int, int]], NDArray[Any]]:
    """Concatenate the kinds' arrays `[group, layer, head, item]` into one `[group, candidate, item]`.

    Returns:
        Kind, layer and head of each candidate, and the array.
    """
    candidates = [
        (kind, layer + 1, head + 1) for kind, table in tables.items() for layer, head in np.ndindex(table.shape[1:3])
    ]
    flat = [table.reshape(len(table), -1, table.shape[-1]) for table in tables.values()]
    return candidates, np.concatenate(flat, axis=1)
