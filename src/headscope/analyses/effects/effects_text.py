"""Some inputs of a run, read by the model with its head while one head after another is changed."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from headscope.analyses.effects.forecast import Forecast
from headscope.attention.interventions.effect_source import EffectSource, Scope
from headscope.attention.interventions.intervention import Fit, Heads
from headscope.attention.interventions.logit_path import LogitPath
from headscope.attention.interventions.looking_elsewhere import Sink, Uniform
from headscope.attention.interventions.resampled import Resample
from headscope.attention.interventions.written_changes import Mean, Zero
from headscope.attention.model.loss_source import LossCounts
from headscope.encoding import shards
from headscope.encoding.batching import length_buckets
from headscope.encoding.segment import Segment
from headscope.models.anatomy import Anatomy
from headscope.models.loading.load_model import LoadedModel
from headscope.prepare.input_sizes import auto_batch_size, gradient_batch_size, gradient_fits
from headscope.prepare.loss_model import ask_of_run, loss_model
from headscope.prepare.model_run import ModelRun
from headscope.scans.progress import Watcher
from headscope.scans.scan_declaration import ScanCorpus

_NUMBERS_AT_ONCE = 1 << 27  # scores of tokens in one batch, four times over: 512 MiB of float32
FITS: Mapping[str, Fit] = {
    "mean": Mean.fitted,
    "zero": lambda _: Zero(),
    "resample": Resample.fitted,
    "uniform": lambda _: Uniform(),
    "sink": lambda _: Sink(),
}
"""What makes each intervention, by its name."""


class EffectsText(ScanCorpus):
    """Inputs of a run's text, spread over its documents; the model is loaded when they are read.

    Args:
        run: whose text it is.
        watch: told of what it takes.
        fits: returns what makes the interventions, once the inputs are read.
        most: number of inputs at most.
        scopes: what is changed at once.
        only: returns which single heads are changed, once the inputs are read; None for all.
        sets: returns sets of heads, each changed at once, once the inputs are read.
        direct: whether direct effects are measured, too.
        first_order: whether first-order effects are, where the model gives a gradient.
        scored: whether the effect on the user's score is, where there is one.
        reads: which of the inputs the model reads; interventions learn from all.
        what: is measured, in words.

    Attributes:
        loss: the name of the loss, `passes` and `backward` how many forward and backward passes an input takes, `whole`
            why passes are whole ones (empty where they are not), `logit_path` that from heads to logits,
            `no_gradient` why there are no first-order effects, and `counts` what the loss was taken of; known once the
            source is opened.
    """

    def __init__(
        self,
        run: ModelRun,
        watch: Watcher | None,
        *,
        fits: Callable[[], Sequence[Fit]],
        most: int,
        scopes: Sequence[Scope] = ("head",),
        only: Callable[[], Heads | None] = lambda: None,
        sets: Callable[[], Sequence[Heads]] = tuple,
        direct: bool = False,
        first_order: bool = False,
        scored: bool = False,
        reads: Callable[[Segment], bool] = lambda _: True,
        what: str = "effects",
    ) -> None:
        self.run, self.watch, self.fits, self.scopes, self.sets = run, watch, fits, scopes, sets
        self.only, self.direct, self.most, self.reads, self.what = only, direct, most, reads, what
        self.first_order, self.no_gradient, self.scored = first_order, "", scored
        self.loss, self.passes, self.backward, self.whole = "", 0.0, 0, ""
        self.counts = LossCounts()
        self.logit_path = LogitPath()

    @cached_property
    def inputs(self) -> list[Segment]:
        """The inputs that interventions learn from."""
        return self.run.sample(self.most)

    @cached_property
    def read(self) -> list[Segment]:
        """The inputs that the model reads with heads changed."""
        return [segment for segment in self.inputs if self.reads(segment)]

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
            fits=self.fits(),
            scopes=self.scopes,
            only=self.only(),
            sets=self.sets(),
            direct=self.direct,
            first_order=first_order,
            score=options.score if self.scored else None,
            fitting=lambda: length_buckets(self.inputs, batch_size=size),
            seed=options.seed,
            after_batch=Forecast(self.watch, self.limit, what=self.what),
        )
        # A head costs a pass or a part of it: shards are so much smaller that as little is lost with one.
        tokens = max(1, int(shards.SHARD_TOKENS / source.passes))
        source.batches = shards.ShardedBatches(shards.shards(self.read, tokens=tokens), batch_size=size)
        self.loss, self.whole = model.loss, source.plan.missing
        self.passes, self.backward = source.passes, source.backward
        self.logit_path, self.counts = source.logit_path, source.counts
        self.no_gradient = source.no_gradient
        if self.first_order and not first_order:
            self.no_gradient = (
                f"the weights of all layers of an input of {options.max_length:,} tokens take too much memory at once; "
                "lower --max-length"
            )
        return source

    def facts(self) -> dict[str, Any]:
        """Return what the manifest says of the loss, once the inputs were read."""
        passes = {"passes": round(self.passes, 3), "backward_passes": self.backward}
        return {**self.counts.facts(self.loss), **passes}

    def documents_read(self, inputs: int) -> int:
        """Return about how many documents so many of the inputs make up."""
        return self.total * inputs // max(1, self.limit)

    @cached_property
    def total(self) -> int:
        """The number of documents that the inputs are of; every progress line needs it."""
        return len({segment.document for segment in self.read})

    @property
    def limit(self) -> int:
        """The number of inputs."""
        return len(self.read)


def effect_batch_size(max_length: int, anatomy: Anatomy, loaded: LoadedModel) -> int:
    """Return the number of inputs per batch such that what the model predicts of all tokens fits into memory.

    Args:
        max_length: number of tokens in an input at most.
        anatomy: of the model.
        loaded: the model with its head.
    """
    vocabulary = int(loaded.model.get_input_embeddings().weight.shape[0])
    fitting = _NUMBERS_AT_ONCE // (4 * max_length * vocabulary)
    return max(1, min(auto_batch_size(max_length, anatomy, loaded), fitting))
