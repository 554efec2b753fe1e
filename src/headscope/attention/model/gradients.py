"""A model run over segments with the gradient of its loss, passed on as tiles of weights and gradients.

An attention call's output is weights times values. With L the loss and o[q] a head's output of row q, the derivative
with respect to a single weight is dL/dw[q, k] = dL/do[q] . v[k]: the weight is a free variable, not kept on the
simplex. So the gradient of the output, which the backward pass computes anyway, is all that is needed, one layer at
a time, the last first.
"""

from collections.abc import Callable, Set

import torch
from torch import Tensor

from headscope.attention.model.loss_source import LossSource, question_batch
from headscope.attention.model.model_pass import ModelPass, TileConsumer
from headscope.attention.model.tap import AttentionCall, attended, output_of, values_by_head
from headscope.encoding.loss_questions import NO_TARGET, Question
from headscope.errors import ModelError
from headscope.models.anatomy import CallSite
from headscope.models.losses import asked_logits, frozen, segment_losses

_TOLERANCE = 1e-5  # of output against weights times values, relative to the largest


class GradientSource(LossSource):
    """Run a model with its head over segments; pass on weights and the loss's gradient with respect to them.

    The gradient of a segment is that of its own loss, whatever the batch. Tiles come during the backward pass, one per
    layer, the last layer first. The weights of all layers of one batch are kept, and the gradients of one layer.
    Arguments and errors are those of `LossSource`.
    """

    refusal = "no gradient of it can be taken; use --loss none, or another model"

    def run(self, consumer: TileConsumer, needs: Set[str]) -> None:
        """Compute the batches one by one; see `TileSource`. Tiles always hold weights and gradients, never output norms
        or vectors."""
        shared = self.begun(consumer)
        run = _Backward(shared, self)
        with shared.listening(run.listen), frozen(self.model), torch.enable_grad():
            for questions in self.questions():
                run.batch(questions)


class _Backward:
    """The backward pass of a `GradientSource`: passes a layer on when the gradient of its output has arrived.

    Args:
        shared: the pass.
        source: counts the segments and targets of the loss.
    """

    def __init__(self, shared: ModelPass, source: LossSource) -> None:
        self.shared = shared
        self.source = source
        self.checked = False
        self.waiting: dict[int, Callable[[Tensor | None], None]] = {}

    def batch(self, questions: list[Question]) -> None:
        """Run the forward pass and the backward pass, during which the tiles are made."""
        shared = self.shared
        self.waiting = {}
        with question_batch(questions, shared) as (inputs, targets):
            has_target = targets != NO_TARGET
            with asked_logits(shared.model, has_target):
                logits = shared.call(inputs, return_dict=True).logits
            losses = segment_losses(logits if logits.ndim == 2 else logits[has_target], targets)
            losses.sum().backward()  # type: ignore[no-untyped-call]
            for tell in list(self.waiting.values()):
                tell(None)  # the loss does not depend on this call
            self.checked = True
            self.source.count(questions, losses)

    def listen(self, call: AttentionCall, site: CallSite) -> Tensor:
        """Compute one layer as the model does, and wait for the gradient of its output."""
        answer = attended(call)
        output = answer.output
        if not self.checked:
            _check_product(call, output, answer.weights)
        if not output.requires_grad:
            # No gradient before the first layer is needed: the backward pass ends here.
            output = output.detach().requires_grad_(True)
        # The closure keeps nothing of the call itself, so that its tensors can be freed during the backward pass.
        order, mask, shared = call.order, call.mask, self.shared
        weights, values = answer.weights.detach(), values_by_head(call).detach()
        sink = None if answer.sink is None else answer.sink.detach()

        def tell(gradient: Tensor | None) -> None:
            """Pass on the layer when its output's gradient has arrived; None means 0: nothing depends on the output."""
            del self.waiting[order]
            with torch.no_grad():
                if gradient is None:
                    weight_gradient = torch.zeros_like(weights)
                else:
                    weight_gradient = gradient.transpose(1, 2).to(values.dtype) @ values.transpose(2, 3)
                visibility = shared.visibility(site, slice(0, weights.shape[2]), mask, sink=sink is not None)
                tile = shared.tile(site, visibility, given_weights=weights, given_gradient=weight_gradient, sink=sink)
                shared.consumer.update(tile)

        self.waiting[order] = tell
        output.register_hook(tell)  # type: ignore[no-untyped-call]
        return output


def _check_product(call: AttentionCall, output: Tensor, weights: Tensor) -> None:
    """Check that the output is the product of weights and values, which the gradient is based on."""
    with torch.no_grad():
        product = output_of(call, weights)
        if product.shape == output.shape:
            # NaNs (a row of padding in double precision) are NaNs in both.
            off = float((product - output).abs().nan_to_num(0.0).max())
            most = float(output.abs().nan_to_num(0.0).max())
        else:
            off, most = float("inf"), 1.0
    tolerance = _TOLERANCE if output.dtype in (torch.float32, torch.float64) else 1e-2
    if off > tolerance * max(most, 1.0):
        raise ModelError(
            f"{type(call.module).__name__} does more with its attention weights than multiply values by them, so the "
            "gradient with respect to them is not known; use --loss none, or another model"
        )
