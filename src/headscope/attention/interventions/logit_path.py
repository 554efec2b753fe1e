"""The known path from a model's heads to its logits, or the reason why it is not known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from torch import Tensor, nn

from headscope.attention.interventions.block_plan import Layer
from headscope.attention.interventions.direct_effect import DirectEffects
from headscope.attention.model.ov_circuit import ov_copying
from headscope.attention.model.projections import Projections
from headscope.attention.model.unembedding import Unembedding, find_unembedding
from headscope.encoding.vocabulary import Vocabulary
from headscope.models.anatomy import Anatomy


@dataclass(frozen=True, kw_only=True, eq=False)
class LogitPath:
    """The path from heads to logits; if nobody looked for it, it has neither an unembedding nor reasons.

    Attributes:
        unembedding: map from the stream to the logits; None if it is not known.
        ov_copying: copying scores computed from weights alone, by layer, for the layers where they are known.
        no_direct: reason for missing direct effects; empty if there are some.
        no_ov: reason for missing copying scores from weights; empty if there are some.
    """

    unembedding: Unembedding | None = None
    ov_copying: Mapping[Layer, Tensor] = field(default_factory=dict)
    no_direct: str = ""
    no_ov: str = ""

    def listener(self, projections: Projections, targets: Tensor) -> DirectEffects | None:
        """Return a listener that measures the direct effects of a batch; None if there are none.

        Args:
            projections: projections of the model.
            targets: as `DirectEffects` takes them.
        """
        return None if self.unembedding is None else DirectEffects(self.unembedding, projections, targets)


def find_logit_path(
    model: nn.Module, anatomy: Anatomy, vocabulary: Vocabulary, blocks: Sequence[nn.Module], projections: Projections
) -> LogitPath:
    """Run short inputs and find how head outputs become logits.

    Args:
        model: a transformers model with its head.
        anatomy: result of `examine`.
        vocabulary: vocabulary of the tokenizer.
        blocks: blocks of the model.
        projections: projections of every layer.
    """
    unembedding = find_unembedding(model, anatomy, vocabulary, blocks)
    if isinstance(unembedding, str):
        return LogitPath(no_direct=unembedding, no_ov=unembedding)
    if projections.lost:
        return LogitPath(no_direct=projections.lost, no_ov=projections.lost)
    scores = ov_copying(model, anatomy, vocabulary, projections, unembedding)
    if isinstance(scores, str):
        return LogitPath(unembedding=unembedding, no_ov=scores)
    return LogitPath(unembedding=unembedding, ov_copying=scores)
