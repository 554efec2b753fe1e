"""Inputs of a run that the model with its prediction head reads while attention heads are changed one by one."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import torch

from headscope.attention.interventions.direct_effect import LogitPath
from headscope.attention.interventions.effect_source import EffectSource
from headscope.attention.interventions.intervention import Fit
from headscope.attention.interventions.outcome import MEASURES, HeadEffects
from headscope.attention.interventions.replacement import Mean, Resample, Sink, Uniform, Zero
from headscope.attention.model.loss_source import LossCounts
from headscope.encoding import shards
from headscope.encoding.batching import length_buckets
from headscope.encoding.segment import Segment
from headscope.models.anatomy import Anatomy
from headscope.models.load_model import LoadedModel
from headscope.scans.prepare.input_sizes import auto_batch_size, gradient_batch_size, gradient_fits
from headscope.scans.prepare.loss_model import ask_of_run, loss_model
from headscope.scans.prepare.prepared_run import ModelRun
from headscope.scans.progress import Watcher, note_early
from headscope.scans.scan_declaration import ScanCorpus
from headscope.statistics.inference.significance import LEAST_LOSS
from headscope.visible import count

_NUMBERS_AT_ONCE = 1 << 27  # four copies of a batch's token scores: 512 MiB of float32
FITS: Mapping[str, Fit] = {
    "mean": Mean.fitted,
    "zero": lambda _: Zero(),
    "resample": Resample.fitted,
    "uniform": lambda _: Uniform(),
    "sink": lambda _: Sink(),
}
"""The function that makes each intervention, by the intervention's name."""


class EffectsText(ScanCorpus):
    """Inputs of a run's text, spread over its documents; the model is loaded when they are read.

    Args:
        run: run with the text.
        watch: watcher that receives the forecast of the time.
        change: function that returns the changes of heads, as arguments of `EffectSource`; called when the source is
            opened.
        most: largest number of inputs.
        first_order: True to measure first-order effects as well, if the model gives a gradient.
        reads: predicate of the inputs that the model reads; interventions are fitted to all inputs.
        what: name of the measured quantity in progress lines.

    Attributes:
        loss: name of the loss. This and the following attributes are known once the source is opened.
        passes, backward: numbers of forward and backward passes per input.
        whole: reason why passes are whole passes; empty if they are not.
        logit_path: path from heads to logits.
        no_gradient: reason why first-order effects are not measured; empty if they are.
        counts: counts of the inputs and targets of the loss.
    """

    def __init__(
        self,
        run: ModelRun,
        watch: Watcher | None,
        change: Callable[[], Mapping[str, Any]],
        *,
        most: int,
        first_order: bool = False,
        reads: Callable[[Segment], bool] | None = None,
        what: str = "effects",
    ) -> None:
        self.run, self.watch, self.change, self.most = run, watch, change, most
        self.first_order, self.reads, self.what = first_order, reads, what
        self.loss, self.passes, self.backward, self.whole, self.no_gradient = "", 0.0, 0, "", ""
        self.counts = LossCounts()
        self.logit_path = LogitPath()
        self._told = False

    @cached_property
    def inputs(self) -> list[Segment]:
        """The inputs to which interventions are fitted."""
        return self.run.sample(self.most)

    @cached_property
    def read(self) -> list[Segment]:
        """The inputs that the model reads with heads changed."""
        return list(filter(self.reads, self.inputs))

    def source(self) -> EffectSource:
        """Return the stream of tiles, with the effects of every head."""
        run, options = self.run, self.run.options
        model = loss_model(run)
        lengths = options.max_length, model.anatomy, model.loaded
        size = options.batch_size or effect_batch_size(*lengths)
        first_order = self.first_order and gradient_fits(*lengths)
        if first_order and options.batch_size is None:
            size = min(size, gradient_batch_size(*lengths))
        source = EffectSource(
            model.loaded.model,
            model.anatomy,
            run.encoder.vocabulary,
            (),
            ask_of_run(run, model),
            first_order=first_order,
            fitting=lambda: length_buckets(self.inputs, batch_size=size),
            seed=options.seed,
            after_batch=self._forecast,
            **self.change(),
        )
        # A head costs a pass or a part of it: shards are smaller in proportion, so that losing one costs no more time.
        tokens = max(1, int(shards.SHARD_TOKENS / source.passes))
        source.batches = shards.ShardedBatches(shards.shards(self.read, tokens=tokens), batch_size=size)
        self.loss, self.whole, self.no_gradient = model.loss, source.plan.missing, source.no_gradient
        self.passes, self.backward = source.passes, source.backward
        self.logit_path, self.counts = source.logit_path, source.counts
        if self.first_order and not first_order:
            self.no_gradient = (
                f"the weights of all layers of an input of {options.max_length:,} tokens take too much memory at once; "
                "lower --max-length"
            )
        return source

    def _forecast(self, source: EffectSource, effects: Sequence[HeadEffects], seconds: float) -> None:
        """Forecast the total time from the first batch, its effects by layer and its seconds; later ones do nothing."""
        if self._told:
            return
        self._told = True
        minutes = seconds * self.limit / len(effects[0].loss) / 60
        needed = documents_needed(_median_spread(effects))
        more = "" if needed is None else f"; about {count(needed, 'document')} show an effect of {LEAST_LOSS:g} nats"
        back = f" and {count(source.backward, 'backward pass', 'backward passes')}" if source.backward else ""
        note_early(
            self.watch,
            f"{self.what} take {source.passes:,.1f} forward passes{back} of {count(self.limit, 'input')}, about "
            f"{minutes:,.1f} minutes by the first batch{more}",
        )

    def facts(self) -> dict[str, Any]:
        """Return the facts on the loss for the manifest; complete once the inputs were read."""
        passes = {"passes": round(self.passes, 3), "backward_passes": self.backward}
        return {**self.counts.facts(self.loss), **passes}

    def documents_read(self, inputs: int) -> int:
        """Estimate the number of documents that a number of inputs covers."""
        return self.total * inputs // max(1, self.limit)

    @cached_property
    def total(self) -> int:
        """The number of documents of the inputs; cached because every progress line needs it."""
        return len({segment.document for segment in self.read})

    @property
    def limit(self) -> int:
        """The number of inputs."""
        return len(self.read)


def effect_batch_size(max_length: int, anatomy: Anatomy, loaded: LoadedModel) -> int:
    """Return the number of inputs per batch for which the predictions at all tokens fit into memory.

    Args:
        max_length: largest number of tokens in an input.
        anatomy: anatomy of the model.
        loaded: model with its prediction head.
    """
    vocabulary = int(loaded.model.get_input_embeddings().weight.shape[0])
    fitting = _NUMBERS_AT_ONCE // (4 * max_length * vocabulary)
    return max(1, min(auto_batch_size(max_length, anatomy, loaded), fitting))


_REACH = 1.96 + 0.84
"""Distance of an effect from 0, in standard errors, at which a test at 5% finds it in 80% of runs."""


def documents_needed(spread: float) -> int | None:
    """Return the number of documents with which a test at 5% finds an effect of `LEAST_LOSS` in 80% of runs.

    Args:
        spread: standard deviation of the effect over documents, nats.

    Returns:
        The number of documents; None where the spread is not known.
    """
    return max(2, math.ceil((_REACH * spread / LEAST_LOSS) ** 2)) if math.isfinite(spread) else None


def _median_spread(effects: Sequence[HeadEffects]) -> float:
    """Return the standard deviation of the added loss over inputs, the median over heads; NaN for one input or without
    heads."""
    added = [layer.heads[:, :, 0, MEASURES.index("loss")] for layer in effects if layer.heads is not None]
    if not added or len(added[0]) < 2:
        return math.nan
    return float(torch.cat([each.std(0) for each in added]).nanmedian())
