"""A model run over segments with the gradient of its loss, handed out as tiles of weights and gradients.

An attention call's output is weights times values. With L the loss and o[q] a head's output of row q, the derivative
with respect to a single weight is dL/dw[q, k] = dL/do[q] . v[k]: the weight is a free variable, not kept on the
simplex. So the gradient of the output, which the backward pass computes anyway, is all that is needed, one layer at
a time, the last first.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from headscope.attention.source import TileConsumer, left_padding_works, model_inputs
from headscope.attention.tap import AttentionCall, Tap, output_of, values_by_head
from headscope.attention.tile import AttentionTile
from headscope.attention.visibility import Visibility, visibility_of
from headscope.encoding.batching import Batch
from headscope.encoding.questions import NO_TARGET, Ask, Question
from headscope.encoding.segment import Segment, SegmentInfo
from headscope.encoding.vocabulary import Vocabulary
from headscope.errors import AttentionError, ModelError
from headscope.models.anatomy import Anatomy
from headscope.models.losses import asked_logits, segment_losses

_TOLERANCE = 1e-5  # of output against weights times values, relative to the largest


@dataclass
class LossCounts:
    """What the loss was taken of; filled while a `GradientSource` runs.

    Attributes:
        segments: segments with something to predict.
        targets: tokens predicted.
        nothing: segments of which nothing could be asked.
        total: sum over segments of the mean loss over their targets, nats.
    """

    segments: int = 0
    targets: int = 0
    nothing: int = 0
    total: float = 0.0

    @property
    def mean(self) -> float:
        """Mean over segments of the loss, nats; NaN before the first."""
        return self.total / self.segments if self.segments else float("nan")


class GradientSource:
    """Run a model with its head over segments; hand out weights and the loss's gradient with respect to them.

    The loss of a batch is the sum over its segments of the mean over a segment's targets: the gradient of a segment
    is that of its own loss, whatever the batch. Tiles come in the backward pass, a layer each, the last layer
    first. Weights of all layers of one batch are held, gradients of one layer.

    Args:
        model: a transformers model that returns logits.
        anatomy: what `examine` found of this very model.
        vocabulary: of the tokeniser, for the classes of tokens: those of the tokens that the model reads, so that a
            hidden period is no period.
        batches: groups of segments to compute together.
        ask: makes what is to be predicted of a segment.
        padding_side: where short segments are filled up, `right` or `left`.

    Attributes:
        counts: what the loss was taken of so far.

    Raises:
        ModelError: the model does not hand its attention to the tap, or left padding would move its tokens.
    """

    def __init__(
        self,
        model: nn.Module,
        anatomy: Anatomy,
        vocabulary: Vocabulary,
        batches: Iterable[list[Segment]],
        ask: Ask,
        *,
        padding_side: str = "right",
    ) -> None:
        if anatomy.path == "fallback":
            raise ModelError(
                f"{type(model).__name__} does not hand its attention to transformers' attention interface, so no "
                "gradient of it can be taken; use --loss none, or another model"
            )
        if padding_side == "left" and not left_padding_works(model, anatomy):
            raise ModelError(
                f"{type(model).__name__} takes no position ids, so padding on the left would move its tokens; "
                "pad on the right"
            )
        self.model = model
        self.anatomy = anatomy
        self.layout = anatomy.layout
        self.vocabulary = vocabulary
        self.batches = batches
        self.ask = ask
        self.padding_side = padding_side
        self.counts = LossCounts()

    def run(self, consumer: TileConsumer, *, need_weights: bool, need_statistics: bool = True) -> None:
        """Compute the batches one by one; see `TileSource`. Tiles always hold weights and gradients."""
        run = _Run(self, consumer)
        with Tap(self.model, run.listen), frozen(self.model), torch.enable_grad():
            for segments in self.batches:
                asked = [self.ask(segment) for segment in segments]
                questions = [question for question in asked if question is not None]
                self.counts.nothing += len(asked) - len(questions)
                if questions:
                    run.batch(questions)


class _Run:
    """One pass of a `GradientSource`: the state of the batch under way."""

    def __init__(self, source: GradientSource, consumer: TileConsumer) -> None:
        self.source = source
        self.consumer = consumer
        self.device = next(source.model.parameters()).device
        self.checked = False
        self.sides: dict[str, SegmentInfo] = {}
        self.seen: dict[tuple[str, int], tuple[Tensor | None, Visibility]] = {}
        self.waiting: dict[int, Callable[[Tensor | None], None]] = {}

    def batch(self, questions: list[Question]) -> None:
        """Forward, loss, backward; the tiles come while it goes back."""
        source = self.source
        batch, inputs, targets = self._begin(questions)
        cache = {"use_cache": False} if "use_cache" in source.anatomy.parameters else {}
        asked = targets != NO_TARGET
        with asked_logits(source.model, asked):
            logits = source.model(**inputs, **cache, return_dict=True).logits
        losses = segment_losses(logits if logits.ndim == 2 else logits[asked], targets)
        losses.sum().backward()  # type: ignore[no-untyped-call]
        for tell in list(self.waiting.values()):
            tell(None)  # a call that the loss does not depend on
        self.checked = True
        source.counts.segments += len(questions)
        source.counts.targets += sum(question.number for question in questions)
        source.counts.total += float(losses.detach().double().sum())
        self.consumer.end(batch)

    def _begin(self, questions: list[Question]) -> tuple[Batch, dict[str, Tensor], Tensor]:
        source = self.source
        decoders = [question.decoder for question in questions if question.decoder is not None]
        batch, inputs, decoder = model_inputs(
            [question.segment for question in questions],
            source.anatomy,
            source.vocabulary,
            padding_side=source.padding_side,
            decoders=decoders if source.anatomy.encoder_decoder else None,
        )
        batch = replace(batch, info=batch.info.to(self.device))
        self.sides = {"encoder": batch.info, "decoder": (decoder or batch).info.to(self.device)}
        self.seen, self.waiting = {}, {}
        self.consumer.begin(batch)
        predicting = self.sides["decoder"].valid.cpu().numpy()
        targets = np.full(predicting.shape, NO_TARGET, dtype=np.int64)
        targets[predicting] = np.concatenate([question.targets for question in questions])
        on_device = {name: tensor.to(self.device) for name, tensor in inputs.items()}
        return batch, on_device, torch.from_numpy(targets).to(self.device)

    def listen(self, call: AttentionCall) -> Tensor:
        """Compute one layer as the model does, and wait for the gradient of its output."""
        output, weights = call.eager()
        if not self.checked:
            _check_product(call, output, weights)
        if not output.requires_grad:
            # Nothing before the first layers is asked for: the backward pass ends here.
            output = output.detach().requires_grad_(True)
        tell = partial(self._tell, call.order, call.mask, weights.detach(), values_by_head(call).detach())
        self.waiting[call.order] = tell
        output.register_hook(tell)  # type: ignore[no-untyped-call]
        return output

    def _tell(
        self, order: int, mask: Tensor | None, weights: Tensor, values: Tensor, gradient: Tensor | None
    ) -> None:
        """Hand on a layer whose output's gradient has come, or whose gradient is 0 as nothing depends on it."""
        del self.waiting[order]
        with torch.no_grad():
            if gradient is None:
                own = torch.zeros_like(weights)
            else:
                own = gradient.transpose(1, 2).to(values.dtype) @ values.transpose(2, 3)
            self._emit(order, mask, weights, own)

    def _emit(self, order: int, mask: Tensor | None, weights: Tensor, gradient: Tensor) -> None:
        site = self.source.anatomy.calls[order]
        queries = self.sides["encoder" if site.kind == "encoder" else "decoder"]
        keys = self.sides["decoder" if site.kind == "decoder" else "encoder"]
        rows = slice(0, weights.shape[2])
        name = (site.kind, id(mask))
        if name not in self.seen:  # layers share the mask, which is kept so that its id stays its own
            visibility = visibility_of(
                mask,
                queries=queries,
                keys=keys,
                rows=rows,
                square=site.kind != "cross",
                causal=site.kind == "decoder",
            )
            self.seen[name] = (mask, visibility)
        tile = AttentionTile(
            kind=site.kind,
            layer=site.layer,
            start=0,
            queries=queries,
            keys=keys,
            visibility=self.seen[name][1],
            groups=site.groups,
            given_weights=weights,
            given_gradient=gradient,
        )
        check_gradient(tile)
        self.consumer.update(tile)


@contextmanager
def frozen(model: nn.Module) -> Iterator[None]:
    """Take no gradients of a model's parameters for a while; each gets its own flag back, also after an error."""
    flags = [(parameter, parameter.requires_grad) for parameter in model.parameters()]
    try:
        for parameter, _ in flags:
            parameter.requires_grad_(False)
        yield
    finally:
        for parameter, flag in flags:
            parameter.requires_grad_(flag)


def check_gradient(tile: AttentionTile) -> None:
    """Stop at a gradient that is NaN or infinite in a row that counts.

    Raises:
        AttentionError: names layer, head and document.
    """
    rows = tile.gradient.sum(-1)
    if torch.isfinite(rows.sum()):
        return
    bad = ~torch.isfinite(rows) & tile.row_valid[:, None]
    if not bad.any():
        return
    item, head, _ = (int(i) for i in bad.nonzero()[0])
    raise AttentionError(
        f"{tile.kind} head {tile.layer + 1}-{head + 1} has a gradient that is NaN or infinite, in segment "
        f"{tile.queries.indices[item] + 1} of document {tile.queries.documents[item]}; the loss or the weights "
        "overflow: try --dtype float32, and check the checkpoint"
    )


def _check_product(call: AttentionCall, output: Tensor, weights: Tensor) -> None:
    """Make sure that the output is the product of weights and values, on which the gradient rests."""
    with torch.no_grad():
        product = output_of(call, weights)
        if product.shape == output.shape:
            # What is not a number (a row of padding in double precision) is so in both.
            off = float((product - output).abs().nan_to_num(0.0).max())
            most = float(output.abs().nan_to_num(0.0).max())
        else:
            off, most = float("inf"), 1.0
    tolerance = _TOLERANCE if output.dtype in (torch.float32, torch.float64) else 1e-2
    if off > tolerance * max(most, 1.0):
        raise ModelError(
            f"{type(call.module).__name__} does more with its attention weights than multiply values by them, so the "
            "gradient with respect to them cannot be told; use --loss none, or another model"
        )
