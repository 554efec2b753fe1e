"""Run a model over segments while changing one head after another, and pass on each change's effect on the loss."""

import time
from collections.abc import Callable, Iterable, Sequence, Set
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass
from functools import cache, partial
from typing import Any, Literal

import torch
from torch import Tensor

from headscope.attention.head_id import head_label
from headscope.attention.interventions.block_plan import Layer, find_blocks
from headscope.attention.interventions.changed_pass import ChangedPasses
from headscope.attention.interventions.direct_effect import DirectEffects, LogitPath, find_logit_path
from headscope.attention.interventions.intervention import Fit, Heads, Intervention, NoTiles, fit_interventions
from headscope.attention.interventions.outcome import MEASURES, HeadEffects, Predictions, input_scores
from headscope.attention.interventions.unchanged_pass import FirstOrder, missing_gradient, unchanged_outputs
from headscope.attention.model.loss_source import LossSource, question_batch
from headscope.attention.model.model_pass import ModelPass, TileConsumer
from headscope.attention.model.projections import find_projections
from headscope.encoding.loss_questions import NO_TARGET, Question
from headscope.encoding.segment import Segment
from headscope.errors import AttentionError
from headscope.models.losses import asked_logits, frozen

Scope = Literal["head", "layer", "model"]
"""What is changed at once: a single head, all heads of a layer, or all heads of the model."""


@dataclass(eq=False, repr=False)
class EffectSource(LossSource):
    """Run a model with its head over segments; pass on how much its predictions change if attention heads are changed.

    One tile per layer, with `effects` and without weights. For each batch, the outputs of every block and the
    log probabilities of the unchanged model at the targets are kept in memory.

    Args:
        model, anatomy, vocabulary, batches, ask, padding_side: as `LossSource` takes them.
        fits: functions that make the interventions.
        fitting: returns the batches of segments that interventions learn from; read at most once.
        scopes: what is changed at once.
        only: heads that are changed singly; None for all.
        sets: sets of heads; each set is changed at once.
        direct: whether tiles hold direct effects and copying scores computed from weights, where these are known.
        first_order: whether tiles hold first-order effects, where the model gives a gradient.
        score: a user's function from the model's output and the inputs of a batch to a number per input; its change is
            a further measure, placed after `MEASURES`.
        seed: seed of the random draws of interventions.
        after_batch: called after each batch with this source, the effects by layer, and the seconds that the batch
            took.

    Attributes:
        plan: the model's blocks.
        logit_path: path from heads to logits, if direct effects were requested.
        no_gradient: reason for missing first-order effects; empty if there are some or they were not requested.
        backward: number of backward passes per input.

    Raises:
        ModelError: as `LossSource`.
    """

    refusal = "its heads cannot be changed; choose another model"

    _: KW_ONLY
    fits: Sequence[Fit]
    fitting: Callable[[], Iterable[list[Segment]]] = lambda: ()
    scopes: Sequence[Scope] = ("head",)
    only: Heads | None = None
    sets: Sequence[Heads] = ()
    direct: bool = False
    first_order: bool = False
    score: Callable[[Any, Any], Any] | None = None
    seed: int = 0
    after_batch: Callable[["EffectSource", list[HeadEffects], float], object] = lambda *_: None

    def __post_init__(self) -> None:
        super().__post_init__()
        known = self.model, self.anatomy, self.vocabulary
        self.plan = find_blocks(*known)
        self._projections = find_projections(*known)
        self.logit_path = LogitPath()
        if self.direct:
            self.logit_path = find_logit_path(*known, self.plan.modules, self._projections)
        unheard = self._passes(NoTiles())
        self.no_gradient = missing_gradient(unheard) if self.first_order else ""
        self.backward = int(self.first_order and not self.no_gradient)
        self._sites = {(site.kind, site.layer): site for site in self.anatomy.calls if site is not None}
        # Fitted once, on first use, and shared with the copies that read a part of the batches.
        self._interventions = cache(
            partial(fit_interventions, self.fits, self.fitting, ask=self.ask, passes=unheard, seed=self.seed)
        )

    @property
    def passes(self) -> float:
        """Number of forward passes per input, including that of the unchanged model."""
        by_layer = {layer: self.plan.passes(layer) for layer in self._sites}
        changed = sum(max(by_layer[layer] for layer in heads) for heads in self.sets)
        if "head" in self.scopes:
            changed += sum(len(self._single(layer)) * part for layer, part in by_layer.items())
        if "layer" in self.scopes:
            changed += sum(by_layer.values())
        if "model" in self.scopes:
            changed += max(by_layer.values())
        return float(1 + len(self.fits) * changed)

    def run(self, consumer: TileConsumer, needs: Set[str]) -> None:
        """Compute the batches one by one; see `TileSource`. Tiles hold only effects."""
        interventions = self._interventions()
        passes = self._passes(consumer)
        with passes.listening(), frozen(self.model):
            for questions in self.questions():
                began = time.perf_counter()
                effects = self._batch(questions, passes, interventions)
                self.after_batch(self, effects, time.perf_counter() - began)

    def _passes(self, consumer: TileConsumer) -> ChangedPasses:
        return ChangedPasses(self.begun(consumer), self.plan, self._projections)

    def _batch(
        self, questions: list[Question], passes: ChangedPasses, interventions: Sequence[Intervention]
    ) -> list[HeadEffects]:
        """Compute a batch and return the effects by layer."""
        shared, by_layer = passes.shared, []
        segments = [question.segment for question in questions]
        scores = None if self.score is None else partial(input_scores, self.score, segments)
        unembedding = self.logit_path.unembedding
        with (
            question_batch(questions, shared) as (inputs, targets),
            # A user's score may read logits at any position.
            nullcontext() if scores else asked_logits(self.model, targets != NO_TARGET),
        ):
            direct = None if unembedding is None else DirectEffects(unembedding, self._projections, targets)
            first_order = FirstOrder(interventions, self._sites) if self.backward else None
            outputs = unchanged_outputs(passes, inputs, targets, direct=direct, first_order=first_order)
            with torch.inference_mode():
                predictions = Predictions(outputs.logits.detach(), targets)
                losses, before = predictions.losses, None if scores is None else scores(outputs)
                self._check(losses, shared)
                self.count(questions, losses)

                def measures(outputs: Any) -> Tensor:
                    changed = predictions.against(outputs.logits)
                    if scores is None or before is None:
                        return changed
                    return torch.cat([changed, (scores(outputs) - before)[:, None]], dim=1)

                def effect(heads: Heads) -> Tensor:
                    by_intervention = [measures(passes.changed(inputs, each.changes(heads))) for each in interventions]
                    return torch.stack(by_intervention, dim=1)

                every = {layer: range(len(site.groups)) for layer, site in self._sites.items()}
                whole = effect(every) if "model" in self.scopes else None
                sets = torch.stack([effect(heads) for heads in self.sets], dim=1) if self.sets else None
                self._check(sets, shared, ["several heads"] * len(self.sets))
                for layer in self.plan.layers:
                    effects = HeadEffects(
                        loss=losses,
                        heads=self._of_heads(layer, losses, effect, shared) if "head" in self.scopes else None,
                        layer=effect({layer: every[layer]}) if "layer" in self.scopes else None,
                        model=whole,
                        sets=sets,
                        gate=None if first_order is None else first_order.gate(layer),
                        attribution=None if first_order is None else first_order.attribution(layer),
                        direct=None if direct is None else direct.of_layer(layer),
                        ov_copying=self.logit_path.ov_copying.get(layer),
                    )
                    shared.consumer.update(shared.tile(self._sites[layer], passes.visibility(layer), effects=effects))
                    by_layer.append(effects)
        return by_layer

    def _single(self, layer: Layer) -> Sequence[int]:
        """Return the heads of a layer that are changed singly."""
        return range(len(self._sites[layer].groups)) if self.only is None else self.only.get(layer, ())

    def _of_heads(self, layer: Layer, losses: Tensor, effect: Callable[[Heads], Tensor], shared: ModelPass) -> Tensor:
        """Return the effects of changing each head of a layer, `[batch, head, intervention, measure]`."""
        single, number = list(self._single(layer)), len(self._sites[layer].groups)
        measures = len(MEASURES) + (self.score is not None)
        effects = losses.new_full((len(losses), number, len(self.fits), measures), torch.nan)
        for head in single:
            effects[:, head] = effect({layer: [head]})
        kind, index = layer
        self._check(effects[:, single], shared, [f"{kind} head {head_label(index + 1, head + 1)}" for head in single])
        return effects

    def _check(self, values: Tensor | None, shared: ModelPass, changed: Sequence[str] = ()) -> None:
        """Raise an error if a loss is not finite.

        Args:
            values: losses of the unchanged model, `[batch]`, or losses with each of some changes,
                `[batch, change, ...]`.
            shared: pass that knows the segments.
            changed: names of the changed heads of each change.

        Raises:
            AttentionError: a loss is not finite; names the change and the document.
        """
        if values is None or torch.isfinite(values).all():
            return
        item, *change = (~torch.isfinite(values)).nonzero()[0].tolist()
        segment = shared.sides["encoder"]
        how = f"with {changed[change[0]]} changed, " if change else ""
        raise AttentionError(
            f"{how}the loss is NaN or infinite in segment {segment.indices[item] + 1} of document "
            f"{segment.documents[item]}; the weights or the input overflow: try --dtype float32, and check the "
            "checkpoint"
        )
