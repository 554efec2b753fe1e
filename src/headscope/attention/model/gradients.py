"""A model run over segments with the gradient of its loss, handed out as tiles of weights and gradients.

An attention call's output is weights times values. With L the loss and o[q] a head's output of row q, the derivative
with respect to a single weight is dL/dw[q, k] = dL/do[q] . v[k]: the weight is a free variable, not kept on the
simplex. So the gradient of the output, which the backward pass computes anyway, is all that is needed, one layer at
a time, the last first.
"""

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headscope.attention.model.learned_sink import attended
from headscope.attention.model.model_pass import ModelPass, TileConsumer
from headscope.attention.model.tap import AttentionCall, output_of, values_by_head
from headscope.encoding.batching import of_one_length
from headscope.encoding.questions.loss_questions import NO_TARGET, Ask, Question
from headscope.encoding.segment import Segment
from headscope.encoding.vocabulary import Vocabulary
from headscope.errors import ModelError
from headscope.models.anatomy import Anatomy, CallSite
from headscope.models.left_padding import check_padding
from headscope.models.losses import asked_logits, frozen, segment_losses

_TOLERANCE = 1e-5  # of output against weights times values, relative to the largest


@dataclass
class LossCounts:
    """What the loss was taken of; filled while a `GradientSource` runs.

    Attributes:
        segments: segments with something to predict.
        targets: tokens predicted.
        nothing: segments without a target.
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

    def merge(self, other: "LossCounts") -> None:
        """Add what another counted."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the counts as named arrays."""
        return {name: np.array(value) for name, value in vars(self).items()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take up what `state()` returned."""
        for name in vars(self):
            setattr(self, name, state[name].item())


class GradientSource:
    """Run a model with its head over segments; hand out weights and the loss's gradient with respect to them.

    The loss of a batch is the sum over its segments of the mean over a segment's targets: the gradient of a segment
    is that of its own loss, whatever the batch. Tiles come in the backward pass, a layer each, the last layer
    first. Weights of all layers of one batch are held, gradients of one layer.

    Args:
        model: a transformers model that returns logits.
        anatomy: what `examine` found of this very model.
        vocabulary: of the tokenizer, for the classes of tokens: those of the tokens that the model reads, so that a
            hidden period is no period.
        batches: groups of segments to compute together.
        ask: makes what is to be predicted of a segment.
        padding_side: where short segments are filled up, `right` or `left`.

    Attributes:
        counts: what the loss was taken of so far.

    Raises:
        ModelError: the model does not hand its attention to the tap, or padding on the left changes its numbers.
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
        check_padding(model, anatomy, vocabulary, padding_side)
        self.model = model
        self.anatomy = anatomy
        self.layout = anatomy.layout
        self.vocabulary = vocabulary
        self.batches = batches
        self.ask = ask
        self.padding_side = padding_side
        self.counts = LossCounts()

    def run(self, consumer: TileConsumer, needs: Set[str]) -> None:
        """Compute the batches one by one; see `TileSource`. Tiles always hold weights and gradients, never what is
        written, nor vectors."""
        shared = ModelPass(
            self.model, self.anatomy, self.vocabulary, consumer, padding_side=self.padding_side
        )
        run = _Backward(shared, self.counts)
        with shared.listening(run.listen), frozen(self.model), torch.enable_grad():
            for segments in self.batches:
                per_segment = [self.ask(segment) for segment in segments]
                questions = [question for question in per_segment if question is not None]
                self.counts.nothing += len(per_segment) - len(questions)
                for together in of_one_length(questions, together=self.anatomy.together, lengths=_lengths):
                    if together:
                        run.batch(together)


def _lengths(question: Question) -> tuple[int, int]:
    """Return how long what an encoder and a decoder read is."""
    return len(question.segment), 0 if question.decoder is None else len(question.decoder)


class _Backward:
    """What a `GradientSource` does with a pass: hands a layer on when the gradient of its output has come back.

    Args:
        shared: the pass.
        counts: what the loss is taken of.
    """

    def __init__(self, shared: ModelPass, counts: LossCounts) -> None:
        self.shared = shared
        self.counts = counts
        self.checked = False
        self.waiting: dict[int, Callable[[Tensor | None], None]] = {}

    def batch(self, questions: list[Question]) -> None:
        """Forward, loss, backward; the tiles come while it goes back."""
        shared = self.shared
        decoders = [question.decoder for question in questions if question.decoder is not None]
        self.waiting = {}
        with shared.batch(
            [question.segment for question in questions],
            decoders if shared.anatomy.encoder_decoder else None,
        ) as inputs:
            targets = self._targets(questions)
            has_target = targets != NO_TARGET
            with asked_logits(shared.model, has_target):
                logits = shared.call(inputs, return_dict=True).logits
            losses = segment_losses(logits if logits.ndim == 2 else logits[has_target], targets)
            losses.sum().backward()  # type: ignore[no-untyped-call]
            for tell in list(self.waiting.values()):
                tell(None)  # a call that the loss does not depend on
            self.checked = True
            self.counts.segments += len(questions)
            self.counts.targets += sum(question.number for question in questions)
            self.counts.total += float(losses.detach().double().sum())

    def _targets(self, questions: list[Question]) -> Tensor:
        """Lay out what is to be predicted at each position of the batch, `[batch, position]`."""
        predicting = self.shared.on_host["decoder"].valid.numpy()
        targets = np.full(predicting.shape, NO_TARGET, dtype=np.int64)
        targets[predicting] = np.concatenate([question.targets for question in questions])
        return torch.from_numpy(targets).to(self.shared.device)

    def listen(self, call: AttentionCall, site: CallSite) -> Tensor:
        """Compute one layer as the model does, and wait for the gradient of its output."""
        answer = attended(call)
        output, weights = answer.output, answer.weights
        if not self.checked:
            _check_product(call, output, weights)
        if not output.requires_grad:
            # No gradient before the first layer is needed: the backward pass ends here.
            output = output.detach().requires_grad_(True)
        tell = partial(
            self._tell,
            call.order,
            site,
            call.mask,
            weights.detach(),
            values_by_head(call).detach(),
            None if answer.sink is None else answer.sink.detach(),
        )
        self.waiting[call.order] = tell
        output.register_hook(tell)  # type: ignore[no-untyped-call]
        return output

    def _tell(
        self,
        order: int,
        site: CallSite,
        mask: Tensor | None,
        weights: Tensor,
        values: Tensor,
        sink: Tensor | None,
        gradient: Tensor | None,
    ) -> None:
        """Hand on a layer whose output's gradient has come, or whose gradient is 0 as nothing depends on it."""
        del self.waiting[order]
        with torch.no_grad():
            if gradient is None:
                weight_gradient = torch.zeros_like(weights)
            else:
                weight_gradient = gradient.transpose(1, 2).to(values.dtype) @ values.transpose(2, 3)
            rows = slice(0, weights.shape[2])
            tile = self.shared.tile(site, rows, mask, weights=weights, gradient=weight_gradient, sink=sink)
            self.shared.consumer.update(tile)


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
