"""What a model predicts with its heads as they are and changed, compared at the same targets."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headscope.encoding.questions.loss_questions import NO_TARGET

MEASURES = ("loss", "kl", "logit")
"""The change of the loss, KL(p || p changed), both in nats, and what is lost of the right token's logit above the mean
of all tokens' logits; each the mean over a segment's targets."""


@dataclass(frozen=True, eq=False)
class HeadEffects:
    """How much the predictions of a batch change with the heads of one layer.

    Attributes:
        loss: of each segment with all heads as they are, the mean over its targets in nats, `[batch]`.
        heads: with one head changed, `[batch, head, intervention, MEASURES]`; NaN of heads that were not, and
            None where it was not asked for. Here and below a user's score stands behind `MEASURES`, where there is
            one.
        layer: with all heads of the layer changed, `[batch, intervention, MEASURES]`; None where it was not asked for.
        model: with all heads of the model changed, `[batch, intervention, MEASURES]`; the same for every layer.
        sets: with the heads of each of some sets changed, `[batch, set, intervention, MEASURES]`; the same for every
            layer.
        gate: the gradient of the loss by a gate of 1 on what each head writes, `[batch, head]`, nats: to first order,
            what is saved when it writes nothing; None where no gradient was taken.
        attribution: what is added to the loss with each head changed, to first order, `[batch, head, intervention]`,
            nats; None where no gradient was taken, or interventions are about where heads look.
        direct: what each head adds to logits by itself, `[batch, head, direct_effect.DIRECT]`; None where it is not
            known.
        ov_copying: the copying score of each head from weights alone, `[head]`, the same for every batch; None where it
            is not known.
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
    """What the unchanged model predicts at the targets of a batch.

    Args:
        logits: of every token at the targets, row by row, `[asked, token]`, or at every position.
        targets: the right tokens, `NO_TARGET` where nothing is asked, `[batch, position]`.
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
        """Return how much loss is added, KL(p || q), and the loss of logit, where the changed model predicts q.

        Args:
            logits: of the changed model, as those of the unchanged one.

        Returns:
            `[batch, MEASURES]`.
        """
        changed = self._log_softmax(logits)
        added = self._of_right - changed.gather(1, self._right)[:, 0]
        # A logit above the mean of all is the same of logarithms: they differ by a number that all tokens share.
        lost = added - (self._mean - changed.mean(-1))
        # The difference of logarithms first: the sums of p log p and p log q agree in most of their digits.
        divergence = changed.sub_(self._logs).neg_().mul_(self._logs.exp()).sum(-1)
        # No divergence is below 0, but for rounding.
        return torch.stack([self._means(added), self._means(divergence).clamp(min=0), self._means(lost)], dim=-1)

    def _log_softmax(self, logits: Tensor) -> Tensor:
        scores = logits if logits.ndim == 2 else logits[self._has_target]
        exact = scores if scores.dtype == torch.float64 else scores.float()
        return torch.log_softmax(exact, dim=-1)

    def _means(self, values: Float[Tensor, " asked"]) -> Float[Tensor, " batch"]:
        sums = values.new_zeros(len(self._number), dtype=torch.float64).index_add(0, self._owner, values.double())
        return sums / self._number.clamp(min=1)
