"""A model run over segments: the common arguments and checks of every source that runs a model."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Set
from dataclasses import KW_ONLY, dataclass

from torch import nn

from headscope.attention.model.model_pass import ModelPass, TileConsumer
from headscope.encoding.segment import Segment
from headscope.encoding.vocabulary import Vocabulary
from headscope.models.anatomy import Anatomy
from headscope.models.left_padding import check_padding


@dataclass(eq=False, repr=False)
class SegmentSource(ABC):
    """A source of tiles that runs a model.

    Args:
        model: a transformers model.
        anatomy: result of `examine` for this model.
        vocabulary: vocabulary of the tokenizer, for the classes of tokens. Classes are those of the tokens that the
            model reads, so that a masked period does not count as a period.
        batches: groups of segments to compute together.
        padding_side: side on which short segments are padded, `right` or `left`.

    Attributes:
        layout: the kinds of attention and their sizes.

    Raises:
        ModelError: left padding was requested, and it changes the model's numbers.
    """

    model: nn.Module
    anatomy: Anatomy
    vocabulary: Vocabulary
    batches: Iterable[list[Segment]]
    _: KW_ONLY
    padding_side: str = "right"

    def __post_init__(self) -> None:
        check_padding(self.model, self.anatomy, self.vocabulary, self.padding_side)
        self.layout = self.anatomy.layout

    @abstractmethod
    def run(self, consumer: TileConsumer, needs: Set[str]) -> None:
        """Compute the batches one by one; see `TileSource`."""

    def begun(self, consumer: TileConsumer) -> ModelPass:
        """Return a pass of the model that feeds tiles to a consumer."""
        return ModelPass(self.model, self.anatomy, self.vocabulary, consumer, padding_side=self.padding_side)
