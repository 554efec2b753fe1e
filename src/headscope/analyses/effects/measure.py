"""The stage of effects: one head after another is changed, and the loss and the predictions are compared."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.effects.accumulator import COMPENSATION, EffectResult, EffectsAccumulator
from headscope.analyses.effects.chosen_heads import GateAccumulator, chosen_heads
from headscope.analyses.effects.effects_text import FITS, EffectsText
from headscope.analyses.effects.estimates.judge import estimates_table
from headscope.analyses.effects.forecast import documents_needed
from headscope.analyses.effects.tables import EFFECTS, NAMES, TOTAL
from headscope.analyses.measurement import Measurement
from headscope.analyses.stage_result import StageResult, notes_on
from headscope.attention.interventions.intervention import Heads
from headscope.declarations.user_score import check_score, name_of_score
from headscope.prepare.loss_model import loss_of
from headscope.prepare.model_run import ModelRun
from headscope.scans.scan_declaration import Scan, ScanSums
from headscope.statistics.inference.confidence import too_few
from headscope.statistics.inference.significance import false_discovery
from headscope.statistics.tables.head_table import head_table


class EffectsMeasurement(Measurement[ModelRun]):
    """How much the model's loss and predictions change with each head, over some inputs of the run's text.

    The scan raises `ModelError` where the checkpoint has no trained head, or an output projection is not found;
    `OptionError` for a loss for another kind of model; `InputError` where one document cannot learn of others.

    Args:
        run: a `ModelRun`; its option `loss` names the loss, and `none` leaves the choice to the model's kind.
        **more: as `Measurement` takes it.
    """

    def __init__(self, run: ModelRun, **more: Any) -> None:
        super().__init__(run, **more)
        options = run.options
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

    def check(self) -> None:
        """Refuse a loss for another kind of model, and a score named as another measure."""
        loss_of(self.run)
        if self.run.options.score is not None:
            check_score(self.run.options.score, taken=NAMES)

    @property
    def score(self) -> str | None:
        """The name of the user's score; None where there is none."""
        score = self.run.options.score
        return None if score is None else name_of_score(score)

    def scans(self) -> Iterator[Scan]:
        """Yield the scan of some of the text; where not all heads are measured, one that estimates them comes first."""
        some = self._number is not None
        if some:
            yield Scan(self.estimates, [self._gates], "estimates", label="effects: estimates", local=True)
        yield Scan(self.text, [EffectsAccumulator()], label="effects", local=some)

    @property
    def _number(self) -> int | None:
        """How many heads are measured; None where all are."""
        number = self.run.options.effect_heads
        heads = sum(part.layers * part.heads for part in self.run.layout)
        return None if number is None or number >= heads else number

    def _chosen(self) -> Heads | None:
        if self._number is None:
            return None
        return chosen_heads(self._gates.compute(), self._number, seed=self.run.options.seed)

    def compute(self, sums: ScanSums) -> StageResult:
        """Return the table.

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
            "heads": sum(part.layers * part.heads for part in self.run.layout),
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
        results: of each kind of attention.
        intervention: what was done to the heads.
        score: the name of the user's score, where there is one.
    """
    q_values = _q_values(results)
    tables = []
    for result, (q, *q_score) in zip(results, q_values, strict=True):
        total = dict(zip(TOTAL, (result.added_loss, result.divergence), strict=True))
        tested = {TOTAL[0]: q}
        if score is not None and result.score is not None:
            total[score] = result.score
            tested[score] = q_score[0]
        intervals = total | dict(result.estimates) | dict(result.direct)
        if intervention != "zero":
            # A head's whole direct effect is of all that it writes.
            intervals.pop(COMPENSATION, None)
        each = intervals.values()
        untested = np.full(q.shape, np.nan)
        columns = {
            "value": np.stack([interval.value for interval in each], -1),
            "ci_low": np.stack([interval.low for interval in each], -1),
            "ci_high": np.stack([interval.high for interval in each], -1),
            "q_value": np.stack([tested.get(name, untested) for name in intervals], -1),
        }
        tables.append(
            head_table(
                columns,
                {"measure": tuple(intervals)},
                kind=result.kind,
                intervention=intervention,
                n_inputs=result.n_inputs,
            )
        )
    table = pd.concat(tables, ignore_index=True)[EFFECTS.names]
    # Heads that were not changed have estimates alone.
    return table[table["value"].notna()].reset_index(drop=True)


def _q_values(results: Sequence[EffectResult]) -> list[list[NDArray[np.float64]]]:
    """Return false discovery rates of each result's tests, each over all heads of the model."""
    sizes = [result.p[0].shape for result in results]
    by_test = [
        _like(false_discovery(np.concatenate([p.reshape(-1) for p in of_test])), sizes)
        for of_test in zip(*(result.p for result in results), strict=True)
    ]
    return [list(of_result) for of_result in zip(*by_test, strict=True)]


def _like(values: NDArray[np.float64], shapes: Sequence[tuple[int, ...]]) -> list[NDArray[np.float64]]:
    """Cut values into arrays of these shapes."""
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
    return [part.reshape(shape) for part, shape in zip(np.split(values, ends), shapes, strict=True)]
