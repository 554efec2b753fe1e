"""The effects stage: heads are changed one by one, and the loss and the predictions are compared."""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.effects.effects_text import FITS, EffectsText, documents_needed
from headscope.analyses.effects.estimates import estimates_table, number_of_largest
from headscope.analyses.effects.sums import SCORE, EffectResult, EffectsAccumulator
from headscope.analyses.effects.tables import COMPENSATION, EFFECTS, GATE, LOSS, NAMES
from headscope.analyses.measurement import Measurement, StageResult, notes_on
from headscope.attention.interventions.block_plan import Layer
from headscope.attention.interventions.intervention import Heads
from headscope.scans.declarations.user_functions import check_score, name_of_score
from headscope.scans.prepare.loss_model import loss_of
from headscope.scans.prepare.prepared_run import ModelRun
from headscope.scans.scan_declaration import Scan, ScanSums
from headscope.statistics.inference.confidence import too_few
from headscope.statistics.inference.significance import false_discovery
from headscope.statistics.tables.frames import head_table


class EffectsMeasurement(Measurement[ModelRun]):
    """Measures the change of the model's loss and predictions when each head is changed, over inputs of the run's text.

    The scan raises `ModelError` where the checkpoint has no trained prediction head, or an output projection is not
    found; `OptionError` for a loss for another kind of model; `InputError` where a document has no other documents to
    which the intervention could be fitted.

    Args:
        run: a `ModelRun`; its option `loss` names the loss, and `none` leaves the choice to the model's kind.
        **more: further arguments of `Measurement`.
    """

    def __init__(self, run: ModelRun, **more: Any) -> None:
        super().__init__(run, **more)
        options = run.options
        self.score = None if options.score is None else name_of_score(options.score)
        how: dict[str, Any] = {"first_order": True, "most": options.effect_inputs}
        self.text = EffectsText(run, self.watch, self._change, **how)
        self.estimates = EffectsText(run, self.watch, lambda: {"fits": (), "scopes": ()}, what="estimates", **how)
        self._estimated = EffectsAccumulator()
        self._heads = sum(part.layers * part.heads for part in run.layout)
        number = options.effect_heads
        self._number = None if number is None or number >= self._heads else number

    def check(self) -> None:
        """Reject a loss for another kind of model, and a score with the name of another measure."""
        loss_of(self.run)
        if self.run.options.score is not None:
            check_score(self.run.options.score, taken=NAMES)

    def scans(self) -> Iterator[Scan]:
        """Yield the scan of a part of the text, after a scan that estimates effects if not all heads are measured."""
        some = self._number is not None
        if some:
            yield Scan(self.estimates, [self._estimated], "estimates", label="effects: estimates", local=True)
        yield Scan(self.text, [EffectsAccumulator()], label="effects", local=some)

    def _change(self) -> dict[str, Any]:
        """Return the changes of all heads, or of the heads that estimates choose."""
        options, only = self.run.options, None
        if self._number is not None:
            sums = self._estimated.sums.stacked()
            gates = {part.kind: sums[f"{GATE}.{part.kind}"].sum(0) for part in self.run.layout}
            only = chosen_heads(gates, self._number, seed=options.seed)
        return {"fits": [FITS[options.intervention]], "direct": True, "score": options.score, "only": only}

    def compute(self, sums: ScanSums) -> StageResult:
        """Compute the tables.

        Raises:
            InputError: there was nothing to predict.
        """
        text, effects = self.text, sums.of(EffectsAccumulator)
        text.counts.check()
        results = effects.compute()
        documents = max(result.n_documents for result in results)
        table = effects_table(results, self.run.options.intervention, score=self.score)
        return StageResult(
            name="effects",
            tables={"effects": table, "effect_estimates": estimates_table(table)},
            facts={"effects": self._facts(results)},
            notes=notes_on(
                "effects",
                text.counts.left_out,
                f"every head takes a whole forward pass: {text.whole}" if text.whole else None,
                too_few(documents),
            ),
            state=effects.state(),
        )

    def _facts(self, results: Sequence[EffectResult]) -> dict[str, Any]:
        spread = np.concatenate([result.spread.reshape(-1) for result in results])
        return {
            **self.text.facts(),
            "nothing_to_predict": self.text.counts.nothing,
            "score": self.score,
            "heads": self._heads,
            "no_gradient": self.text.no_gradient,
            "no_direct": self.text.logit_path.no_direct,
            "no_ov": self.text.logit_path.no_ov,
            "intervention": self.run.options.intervention,
            "documents_needed": documents_needed(float(np.nanmedian(spread))),
        }


def effects_table(results: Sequence[EffectResult], intervention: str, *, score: str | None = None) -> pd.DataFrame:
    """Return effects as `effects.parquet`: a row for each head and measure; layers and heads are 1-based.

    The false discovery rate is over all heads of the model.

    Args:
        results: results of each kind of attention.
        intervention: name of the intervention.
        score: name of the user's score, if there is one.
    """
    tables = []
    for result in results:
        intervals = dict(result.intervals)
        if intervention != "zero":
            # The direct effect is that of the head's whole output, and comparable only with its removal.
            intervals.pop(COMPENSATION, None)
        columns = {
            column: np.stack([getattr(interval, end) for interval in intervals.values()], -1)
            for column, end in (("value", "value"), ("ci_low", "low"), ("ci_high", "high"))
        }
        untested = np.full(result.p[LOSS].shape, np.nan)
        columns["p"] = np.stack([result.p.get(name, untested) for name in intervals], -1)
        more: dict[str, Any] = {"kind": result.kind, "intervention": intervention, "n_inputs": result.n_inputs}
        tables.append(head_table(columns, {"measure": tuple(intervals)}, **more))
    table = pd.concat(tables, ignore_index=True)
    table["q_value"] = table.groupby("measure")["p"].transform(lambda p: false_discovery(p.to_numpy()))
    table["measure"] = table["measure"].replace(SCORE, score)
    # Heads that were not changed have only estimates.
    return table.loc[table["value"].notna(), EFFECTS.names].reset_index(drop=True)


def chosen_heads(estimates: Mapping[str, NDArray[np.float64]], number: int, *, seed: int) -> Heads:
    """Choose heads: one half has the largest estimates, the other half is drawn by hash.

    Args:
        estimates: estimates by kind of attention, `[layer, head]`.
        number: number of heads; all heads if the model has fewer.
        seed: seed of the random draw.
    """
    heads = [(kind, layer, head) for kind, values in estimates.items() for layer, head in np.ndindex(*values.shape)]
    lots = {
        (kind, layer, head): blake2b(f"{seed}/{kind}/{layer}/{head}/effects".encode(), digest_size=8).digest()
        for kind, layer, head in heads
    }
    by_lot = sorted(heads, key=lots.__getitem__)
    by_estimate = sorted(by_lot, key=lambda head: -estimates[head[0]][head[1:]])
    largest = by_estimate[: number_of_largest(min(number, len(heads)))]
    others = [head for head in by_lot if head not in largest][: number - len(largest)]
    chosen: dict[Layer, list[int]] = {}
    for kind, layer, head in sorted([*largest, *others], key=lambda each: each[2]):
        chosen.setdefault((kind, layer), []).append(head)
    return chosen
