"""The predictions of a model with heads unchanged and changed, compared at the same targets or by a user's score."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor

from headscope.encoding.loss_questions import NO_TARGET
from headscope.encoding.segment import Segment
from headscope.errors import OptionError

MEASURES = ("loss", "kl", "logit")
"""The change of the loss and KL(p || p changed), both in nats, and the drop of the right token's logit above the mean
logit of all tokens; each is the mean over a segment's targets."""


@dataclass(frozen=True, eq=False)
class HeadEffects:
    """The changes in the predictions of a batch when heads of one layer are changed.

    Attributes:
        loss: loss of each segment with all heads unchanged, the mean over its targets in nats, `[batch]`.
        heads: effects of changing one head, `[batch, head, intervention, MEASURES]`; NaN for heads that were not
            changed, None if not requested. Here and below the measure axis ends with the user's score, if there is one,
            after `MEASURES`.
        layer: effects of changing all heads of the layer, `[batch, intervention, MEASURES]`; None if not requested.
        model: effects of changing all heads of the model, `[batch, intervention, MEASURES]`; the same for every layer.
        sets: effects of changing the heads of each set, `[batch, set, intervention, MEASURES]`; the same for every
            layer.
        gate: gradient of the loss by a gate of 1 on each head's output, `[batch, head]`, nats: to first order, the loss
            saved if the head writes nothing; None if no gradient was taken.
        attribution: loss added by changing each head, to first order, `[batch, head, intervention]`, nats; None if no
            gradient was taken, or interventions change attention weights.
        direct: contribution of each head to the logits by itself, `[batch, head, direct_effect.DIRECT]`; None if it is
            not known.
        ov_copying: copying score of each head from weights alone, `[head]`, the same for every batch; None if it is not
            known.
    """

    loss: Float[Tensor, " batch"]
    heads: Float[Tensor, "batch head intervention measure"] | None = None
    layer: Float[Tensor, "batch intervention measure"] | None = None
    model: Float[Tensor, "batch intervention measure"] | None = None
    sets: Float[Tensor, "batch set intervention measure"] | None = None
    gate: Float[Tensor, "batch head"] | None = None
    attribution: Float[Tensor, "batch head intervention"] | None = None
    direct: Float[Tensor, "batch head effect"] | None = None
    ov_copying: Float[Tensor, " head"] | None = None


class Predictions:
    """The predictions of the unchanged model at the targets of a batch.

    Args:
        logits: logits of every token at the targets, row by row, `[asked, token]`, or at every position.
        targets: the right tokens, `NO_TARGET` at positions without a target, `[batch, position]`.
    """

    def __init__(self, logits: Tensor, targets: Int[Tensor, "batch position"]) -> None:
        self._has_target = targets != NO_TARGET
        self._right = targets[self._has_target][:, None]
        self._owner = self._has_target.nonzero()[:, 0]
        self._number = self._has_target.sum(1)
        self._logs = self._log_softmax(logits)
        self._of_right = self._logs.gather(1, self._right)[:, 0]
        self._mean = self._logs.mean(-1)

    @property
    def losses(self) -> Float[Tensor, " batch"]:
        """The cross entropy of each segment, the mean over its targets, nats."""
        return self._means(-self._of_right)

    def against(self, logits: Tensor) -> Float[Tensor, "batch measure"]:
        """Return the added loss, KL(p || q), and the drop of the logit, where the changed model predicts q.

        Args:
            logits: logits of the changed model, laid out as those of the unchanged one.

        Returns:
            `[batch, MEASURES]`.
        """
        changed = self._log_softmax(logits)
        added = self._of_right - changed.gather(1, self._right)[:, 0]
        # A logit above the mean logit is a log probability above the mean log probability: they differ by a constant.
        lost = added - (self._mean - changed.mean(-1))
        # The difference of logarithms comes first: the sums of p log p and p log q agree in most of their digits.
        divergence = changed.sub_(self._logs).neg_().mul_(self._logs.exp()).sum(-1)
        # A divergence below 0 can only come from rounding.
        return torch.stack([self._means(added), self._means(divergence).clamp(min=0), self._means(lost)], dim=-1)

    def _log_softmax(self, logits: Tensor) -> Tensor:
        scores = logits if logits.ndim == 2 else logits[self._has_target]
        exact = scores if scores.dtype == torch.float64 else scores.float()
        return torch.log_softmax(exact, dim=-1)

    def _means(self, values: Float[Tensor, " asked"]) -> Float[Tensor, " batch"]:
        sums = values.new_zeros(len(self._number), dtype=torch.float64).index_add(0, self._owner, values.double())
        return sums / self._number.clamp(min=1)


def input_scores(
    score: Callable[[Any, Any], Any], segments: Sequence[Segment], outputs: Any
) -> Float64[Tensor, " batch"]:
    """Return a user's score of each input.

    Args:
        score: function from the model's output and the inputs, in the order of the batch, to a number for each input.
        segments: the inputs.
        outputs: output of the model for the batch.

    Raises:
        OptionError: the function returned something other than a finite number for each input.
    """
    with torch.no_grad():
        answer = score(outputs, tuple(segments))
    number = len(segments)
    expected = f"expected a finite number for each of the {number} inputs of a batch, [{number}]"
    try:
        scores = torch.as_tensor(answer).detach().double()
    except (TypeError, ValueError, RuntimeError):
        raise OptionError(f"score returned a {type(answer).__name__}; {expected}") from None
    if scores.shape != (number,):
        raise OptionError(f"score returned numbers of shape {list(scores.shape)}; {expected}")
    if not torch.isfinite(scores).all():
        document = segments[int((~torch.isfinite(scores)).nonzero()[0])].document
        raise OptionError(f"score is NaN or infinite on an input of document {document}; {expected}")
    return scores
