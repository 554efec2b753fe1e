"""The stage that tests if explanations are causal: they replace attention, and the loss is compared."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.effects.effects_text import FITS, EffectsText
from headscope.analyses.effects.explained_attention import (
    HIDDEN_INPUTS,
    Explained,
    ExplainedAttention,
    RowPredictor,
    TokenRowsAccumulator,
    fitted_again,
)
from headscope.analyses.effects.tables import ADDED, EFFECT_KEPT, KEPT, OVER_POSITIONS
from headscope.analyses.explanation.catalog import catalog_with
from headscope.analyses.explanation.fitted import EXPLAINED, POSITIONS, FittedHeads
from headscope.analyses.explanation.vocabulary_facts import VocabularyFacts
from headscope.analyses.measurement import Measurement, StageResult, notes_on
from headscope.attention.interventions.outcome import MEASURES
from headscope.attention.tile import AttentionTile
from headscope.encoding.segment import Segment
from headscope.models.losses import ask_of
from headscope.scans.prepare.drawn_inputs import DrawnInputs
from headscope.scans.prepare.loss_model import loss_of
from headscope.scans.prepare.prepared_run import ModelRun
from headscope.scans.scan_declaration import Scan, ScanSums
from headscope.statistics.inference.confidence import Interval, ends_of, ratio_interval, too_few
from headscope.statistics.inference.derived import effect_ratio_interval
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.kept import Declared, State, counted, summed

REPLACEMENTS = ("uniform", "explained", "positions")
"""The replacements of attention, in the order of the sums."""
_LOSS = MEASURES.index("loss")


@dataclass(frozen=True, kw_only=True)
class KeptEffect:
    """The effect of attention that is kept when its explanation replaces it, of heads, layers or the whole model.

    Attributes:
        kind: `encoder`, `decoder` or `cross`; None for the whole model.
        added: added loss with each of `REPLACEMENTS`, nats, `[layer, head, replacement]`, without the first axis or the
            first two for layers and the model.
        kept: (L_uniform - L_explained) / (L_uniform - L), `[layer, head]`; NaN where the denominator's interval is not
            above 0.
        over_positions: the same with the explanation by positions alone instead of uniform attention.
        n_inputs: number of inputs.
    """

    kind: str | None
    added: Interval
    kept: Interval
    over_positions: Interval
    n_inputs: int


class KeptAccumulator(Accumulator):
    """Sums the added losses of heads, layers and the model (the mean over each input's targets) by group of documents.

    Args:
        layout: kinds of attention and their sizes.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"effects"})

    def declare(self) -> Declared:
        """Declare the sums of added losses, and the numbers of inputs."""
        number = len(REPLACEMENTS)
        return {
            "heads": summed("layer", "head", number),
            "layers": summed("layer", number),
            # The same number comes with every layer, so that the last layer completes it.
            "model": summed("layer", number),
            "n_inputs": counted("layer"),
        }

    def update(self, tile: AttentionTile) -> None:
        """Add the losses of a layer's heads on each input."""
        effects = tile.effects
        if tile.start != 0 or effects is None:
            return
        assert effects.heads is not None
        assert effects.layer is not None
        assert effects.model is not None
        sums = {"heads": effects.heads, "layers": effects.layer, "model": effects.model}
        self.add(tile, **{name: added[..., _LOSS] for name, added in sums.items()}, n_inputs=1)

    def compute(self) -> list[KeptEffect]:
        """Compute the effects kept of each kind's heads and layers, and of the whole model, with intervals."""
        stacked = self.sums.stacked()
        effects = []
        for part in self.layout:
            counts = stacked[f"n_inputs.{part.kind}"]
            effects += [
                kept_effect(stacked[f"heads.{part.kind}"], counts[..., None, None], kind=part.kind),
                kept_effect(stacked[f"layers.{part.kind}"], counts[..., None], kind=part.kind),
            ]
        first = self.layout[0].kind
        return [*effects, kept_effect(stacked[f"model.{first}"][:, 0], stacked[f"n_inputs.{first}"][:, 0, None])]


def kept_effect(added: NDArray[np.float64], counts: NDArray[Any], *, kind: str | None = None) -> KeptEffect:
    """Compute the effects kept, with intervals over documents.

    Args:
        added: sums of added losses of each document, `[document, ..., replacement]`.
        counts: number of inputs of each document, which broadcasts to `added`.
        kind: kind of attention; None for the whole model.
    """
    uniform, explained, positions = np.moveaxis(added, -1, 0)
    inputs = counts[..., 0]
    return KeptEffect(
        kind=kind,
        added=ratio_interval(added, counts, scale="real"),
        kept=effect_ratio_interval(uniform - explained, uniform, inputs),
        over_positions=effect_ratio_interval(positions - explained, positions, inputs),
        n_inputs=int(counts.reshape(len(counts), -1)[:, 0].sum()),
    )


_OF_INPUTS = 2
"""One in this many inputs of the effects stage is read, since an input takes three times as many passes here."""


class EffectKeptMeasurement(Measurement[ModelRun]):
    """Measures the effect of attention that is kept when explanations replace it: for heads, layers and the model.

    It reads the fits of the stage `explanation`; an input is predicted by the half of the documents that does not
    contain it.

    Args:
        run: a `ModelRun`; its option `loss` names the loss, and `none` leaves the choice to the model's kind.
        **more: further arguments of `Measurement`.
    """

    def __init__(self, run: ModelRun, **more: Any) -> None:
        super().__init__(run, **more)
        most = -(-run.options.effect_inputs // _OF_INPUTS)
        self._again: list[TokenRowsAccumulator] = []
        self.text = EffectsText(run, self.watch, self._change, most=most)

    def check(self) -> None:
        """Reject a loss for another kind of model."""
        loss_of(self.run)

    def scans(self) -> Iterator[Scan]:
        """Yield the scan of a part of the text; none if nothing was fitted because documents were too few.

        If the loss masks words, a scan of masked inputs comes first, to which explanations are refitted.
        """
        run = self.run
        if self.earlier and not self._fitted:
            return
        # Workers and other parts of a run do not have the results of the stage `explanation`.
        if loss_of(run) == "mlm":
            how = {"token": int(run.loaded.tokenizer.mask_token_id), "seed": run.options.seed}
            self._again = [TokenRowsAccumulator(run.layout, **how, others=others) for others in (False, True)]
            inputs = DrawnInputs(run, lambda: self._hidden)
            yield Scan(inputs, self._again, "hidden", label="effect kept: hidden words", local=True)
        yield Scan(self.text, [KeptAccumulator()], label="effect kept", local=True)

    @cached_property
    def _hidden(self) -> list[Segment]:
        """The masked inputs on which the loss is computed."""
        run = self.run
        ask = ask_of("mlm", run.loaded.tokenizer, run.anatomy, seed=run.options.seed)
        return [question.segment for question in map(ask, run.sample(HIDDEN_INPUTS)) if question is not None]

    def compute(self, sums: ScanSums) -> StageResult:
        """Compute the table.

        Raises:
            InputError: there was nothing to predict.
        """
        if not sums:
            documents = int(self.earlier["explanation"].tables["explanation"]["n_documents"].max())
            return StageResult(
                name="effect_kept",
                tables={"effect_kept": kept_table(())},
                notes=notes_on("effect kept", too_few(documents)),
            )
        text, effects = self.text, sums.of(KeptAccumulator)
        text.counts.check()
        return StageResult(
            name="effect_kept",
            tables={"effect_kept": kept_table(effects.compute())},
            facts={"effect_kept": text.facts()},
            state=effects.state(),
        )

    @cached_property
    def _fitted(self) -> dict[str, FittedHeads]:
        """The fits to the heads of each kind of attention; empty where documents were too few."""
        state: State = self.earlier["explanation"].state
        fitted = {part.kind: FittedHeads.from_state(state, part.kind) for part in self.run.layout}
        return {kind: each for kind, each in fitted.items() if each is not None}

    def predictors(self) -> dict[str, list[RowPredictor]]:
        """Return the row predictors of each kind of attention."""
        features = catalog_with(self.run.options.features).features
        vocabulary = VocabularyFacts.of_model(self.run.loaded.model, self.run.loaded.tokenizer)
        by_rows: dict[bool | None, Mapping[str, FittedHeads]] = {None: self._fitted}
        if self._again:
            how = (self._fitted, features, vocabulary)
            by_rows = {not rows.others: fitted_again(rows, *how, seed=self.run.options.seed) for rows in self._again}
        return {
            kind: [RowPredictor(fitted[kind], features, vocabulary, hidden) for hidden, fitted in by_rows.items()]
            for kind in self._fitted
        }

    def _change(self) -> dict[str, Any]:
        """Return the replacements of attention, in the order of `REPLACEMENTS`."""
        attention = ExplainedAttention(self.predictors(), self.text.inputs)
        fits = [FITS["uniform"], lambda _: Explained(attention, EXPLAINED), lambda _: Explained(attention, POSITIONS)]
        return {"fits": fits, "scopes": ("head", "layer", "model")}


def kept_table(effects: Sequence[KeptEffect]) -> pd.DataFrame:
    """Return effects kept as `effect_kept.parquet`: heads, then layers, of each kind, then the model; from 1.

    Args:
        effects: effects in this order; empty if nothing was measured.
    """
    rows: list[dict[str, Any]] = []
    for effect in effects:
        for index in np.ndindex(effect.kept.value.shape):
            heads = dict(zip(("layer", "head"), (at + 1 for at in index)))
            of = {"kind": effect.kind, "n_inputs": effect.n_inputs, **heads}
            rows += [
                *({**of, "measure": name, **ends_of(effect.added, (*index, at))} for at, name in enumerate(ADDED)),
                {**of, "measure": KEPT, **ends_of(effect.kept, index)},
                {**of, "measure": OVER_POSITIONS, **ends_of(effect.over_positions, index)},
            ]
    return EFFECT_KEPT.frame(rows)
