"""The effects stage: heads are changed one by one, and the loss and the predictions are compared."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from headscope.analyses.effects.effects_text import FITS, EffectsText, documents_needed
from headscope.analyses.effects.estimates import chosen_heads, estimates_table
from headscope.analyses.effects.sums import COMPENSATION, LOSS, SCORE, EffectResult, EffectsAccumulator, GateAccumulator
from headscope.analyses.effects.tables import EFFECTS, NAMES
from headscope.analyses.measurement import Measurement, StageResult, notes_on
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
        self.text = EffectsText(
            run,
            self.watch,
            fits=lambda: [FITS[options.intervention]],
            direct=True,
            scored=True,
            first_order=True,
            only=self._chosen,
            most=options.effect_inputs,
        )
        self.estimates = EffectsText(
            run, self.watch, fits=tuple, scopes=(), first_order=True, most=options.effect_inputs, what="estimates"
        )
        self._gates = GateAccumulator()
        self._heads = sum(part.layers * part.heads for part in run.layout)

    def check(self) -> None:
        """Reject a loss for another kind of model, and a score with the name of another measure."""
        loss_of(self.run)
        if self.run.options.score is not None:
            check_score(self.run.options.score, taken=NAMES)

    def scans(self) -> Iterator[Scan]:
        """Yield the scan of a part of the text, after a scan that estimates effects if not all heads are measured."""
        some = self._number is not None
        if some:
            yield Scan(self.estimates, [self._gates], "estimates", label="effects: estimates", local=True)
        yield Scan(self.text, [EffectsAccumulator()], label="effects", local=some)

    @property
    def _number(self) -> int | None:
        """The number of heads that are measured; None for all heads."""
        number = self.run.options.effect_heads
        return None if number is None or number >= self._heads else number

    def _chosen(self) -> Heads | None:
        if self._number is None:
            return None
        return chosen_heads(self._gates.compute(), self._number, seed=self.run.options.seed)

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
        intervals = {score if name == SCORE else name: each for name, each in result.intervals.items()}
        if intervention != "zero":
            # The direct effect is that of the head's whole output, and comparable only with its removal.
            intervals.pop(COMPENSATION, None)
        tested = {score if name == SCORE else name: p for name, p in result.p.items()}
        untested = np.full(tested[LOSS].shape, np.nan)
        columns = {
            "value": np.stack([interval.value for interval in intervals.values()], -1),
            "ci_low": np.stack([interval.low for interval in intervals.values()], -1),
            "ci_high": np.stack([interval.high for interval in intervals.values()], -1),
            "q_value": np.stack([tested.get(name, untested) for name in intervals], -1),
        }
        rows = head_table(columns, {"measure": tuple(intervals)})
        tables.append(rows.assign(kind=result.kind, intervention=intervention, n_inputs=result.n_inputs))
    table = pd.concat(tables, ignore_index=True)[EFFECTS.names]
    # So far the column has the p-value of each test; measures without a test have none.
    table["q_value"] = table.groupby("measure")["q_value"].transform(lambda p: false_discovery(p.to_numpy()))
    # Heads that were not changed have only estimates.
    return table[table["value"].notna()].reset_index(drop=True)
