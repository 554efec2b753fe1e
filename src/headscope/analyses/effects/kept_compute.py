"""The stage that tests if explanations are causal: they replace attention, and the loss is compared."""

from collections.abc import Callable, Iterator, Mapping, Sequence
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
    hidden_inputs,
)
from headscope.analyses.effects.tables import ADDED, EFFECT_KEPT, KEPT, OVER_POSITIONS
from headscope.analyses.explanation.catalog import catalog_with
from headscope.analyses.explanation.fitted import EXPLAINED, POSITIONS, FittedHeads, Predictor
from headscope.analyses.explanation.row_context import Tokens
from headscope.analyses.explanation.vocabulary_facts import VocabularyFacts
from headscope.analyses.measurement import Measurement, StageResult, notes_on
from headscope.attention.interventions.intervention import Fit
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


@dataclass(frozen=True)
class KeptEffect:
    """The effect of attention that is kept when its explanation replaces it.

    Attributes:
        added: added loss with each of `REPLACEMENTS`, nats, `[..., replacement]`.
        kept: (L_uniform - L_explained) / (L_uniform - L), `[...]`; NaN where the denominator's interval is not above 0.
        over_positions: the same with the explanation by positions alone instead of uniform attention, `[...]`.
    """

    added: Interval
    kept: Interval
    over_positions: Interval


@dataclass(frozen=True)
class KeptResult:
    """The effects kept of a kind of attention.

    Attributes:
        kind: `encoder`, `decoder` or `cross`.
        heads: effects of single heads, `[layer, head]`.
        layers: effects of all heads of a layer at once, `[layer]`.
        n_inputs: number of inputs.
    """

    kind: str
    heads: KeptEffect
    layers: KeptEffect
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
        if tile.start != 0 or tile.effects is None:
            return
        effects = tile.effects
        assert effects.heads is not None
        assert effects.layer is not None
        assert effects.model is not None
        self.add(
            tile,
            heads=effects.heads[..., _LOSS],
            layers=effects.layer[..., _LOSS],
            model=effects.model[..., _LOSS],
            n_inputs=1,
        )

    def compute(self) -> tuple[tuple[KeptResult, ...], KeptEffect]:
        """Compute the effects kept of each kind's heads and layers, and of the whole model, with intervals."""
        stacked = self.sums.stacked()
        results = []
        for part in self.layout:
            counts = stacked[f"n_inputs.{part.kind}"]
            results.append(
                KeptResult(
                    kind=part.kind,
                    heads=kept_effect(stacked[f"heads.{part.kind}"], counts[..., None, None]),
                    layers=kept_effect(stacked[f"layers.{part.kind}"], counts[..., None]),
                    n_inputs=int(counts[:, 0].sum()),
                )
            )
        first = self.layout[0].kind
        of_model = kept_effect(stacked[f"model.{first}"][:, 0], stacked[f"n_inputs.{first}"][:, 0, None])
        return tuple(results), of_model


def kept_effect(added: NDArray[np.float64], counts: NDArray[Any]) -> KeptEffect:
    """Compute the effects kept, with intervals over documents.

    Args:
        added: sums of added losses of each document, `[document, ..., replacement]`.
        counts: number of inputs of each document, which broadcasts to `added`.
    """
    uniform, explained, positions = np.moveaxis(added, -1, 0)
    inputs = counts[..., 0]
    return KeptEffect(
        added=ratio_interval(added, counts, scale="real"),
        kept=effect_ratio_interval(uniform - explained, uniform, inputs),
        over_positions=effect_ratio_interval(positions - explained, positions, inputs),
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
        self.text = EffectsText(run, self.watch, fits=self._fits, scopes=("head", "layer", "model"), most=most)

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
        tokenizer = run.loaded.tokenizer
        if loss_of(run) == "mlm":
            inputs = DrawnInputs(run, lambda: self._hidden)
            how = {"token": int(tokenizer.mask_token_id), "seed": run.options.seed}
            self._again = [TokenRowsAccumulator(run.layout, **how, others=others) for others in (False, True)]
            yield Scan(inputs, self._again, "hidden", label="effect kept: hidden words", local=True)
        yield Scan(self.text, [KeptAccumulator()], label="effect kept", local=True)

    @cached_property
    def _hidden(self) -> list[Segment]:
        run = self.run
        ask = ask_of("mlm", run.loaded.tokenizer, run.anatomy, seed=run.options.seed)
        return hidden_inputs(run.sample(HIDDEN_INPUTS), ask)

    def compute(self, sums: ScanSums) -> StageResult:
        """Compute the table.

        Raises:
            InputError: there was nothing to predict.
        """
        if not sums:
            documents = int(self.earlier["explanation"].tables["explanation"]["n_documents"].max())
            return StageResult(
                name="effect_kept",
                tables={"effect_kept": kept_table((), None)},
                notes=notes_on("effect kept", too_few(documents)),
            )
        text, effects = self.text, sums.of(KeptAccumulator)
        text.counts.check()
        return StageResult(
            name="effect_kept",
            tables={"effect_kept": kept_table(*effects.compute())},
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

        def predictors(
            fitted: Mapping[str, FittedHeads], picks: Callable[[Tokens], NDArray[np.bool_]] | None = None
        ) -> dict[str, RowPredictor]:
            return {kind: RowPredictor(Predictor(each, features), vocabulary, picks) for kind, each in fitted.items()}

        if not self._again:
            return {kind: [each] for kind, each in predictors(self._fitted).items()}
        hidden, others = (
            fitted_again(rows, self._fitted, features, vocabulary, seed=self.run.options.seed) for rows in self._again
        )
        of_hidden = predictors(hidden, lambda tokens: tokens.ids == vocabulary.hidden)
        of_others = predictors(others, lambda tokens: tokens.ids != vocabulary.hidden)
        return {kind: [of_hidden[kind], of_others[kind]] for kind in self._fitted}

    def _fits(self) -> Sequence[Fit]:
        """Return the makers of interventions, in the order of `REPLACEMENTS`."""
        attention = ExplainedAttention(self.predictors(), self.text.inputs)
        fits: Mapping[str, Fit] = {
            "uniform": FITS["uniform"],
            "explained": lambda _: Explained(attention, EXPLAINED),
            "positions": lambda _: Explained(attention, POSITIONS),
        }
        return [fits[name] for name in REPLACEMENTS]


def kept_table(kinds: Sequence[KeptResult], of_model: KeptEffect | None) -> pd.DataFrame:
    """Return effects kept as `effect_kept.parquet`: heads, then layers, of each kind, then the model; from 1.

    Args:
        kinds: results of each kind of attention.
        of_model: effect of all heads at once; None where nothing was measured.
    """
    rows: list[dict[str, Any]] = []
    for result in kinds:
        of_kind = {"kind": result.kind, "n_inputs": result.n_inputs}
        for effect, names in ((result.heads, ("layer", "head")), (result.layers, ("layer",))):
            for index in np.ndindex(effect.kept.value.shape):
                numbers = dict(zip(names, (at + 1 for at in index), strict=True))
                rows += [of_kind | numbers | each for each in _numbers(effect, index)]
    if of_model is not None:
        rows += [{"n_inputs": kinds[0].n_inputs} | each for each in _numbers(of_model, ())]
    return EFFECT_KEPT.frame(rows)


def _numbers(effect: KeptEffect, index: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """Yield each measure of some heads with its interval."""
    for number, name in enumerate(ADDED):
        yield {"measure": name, **ends_of(effect.added, (*index, number))}
    yield {"measure": KEPT, **ends_of(effect.kept, index)}
    yield {"measure": OVER_POSITIONS, **ends_of(effect.over_positions, index)}
