"""What may be done to heads: an interface, and how an intervention learns what heads write elsewhere."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from headscope.attention.interventions.block_plan import Layer
from headscope.attention.interventions.changed_pass import Changes, LayerRows
from headscope.attention.model.learned_sink import Attended
from headscope.encoding.questions.loss_questions import Question
from headscope.encoding.vocabulary import Vocabulary
from headscope.errors import InputError

Heads = Mapping[Layer, Sequence[int]]
"""Some heads of each layer, from 0."""
OutputVisitor = Callable[[LayerRows, Float[Tensor, "batch row head width"]], object]
"""Takes what a layer's heads write in a batch."""


class Intervention(ABC):
    """Something that is done to heads; any set of heads at once.

    Attributes:
        name: as options and tables have it.
        writes: whether it replaces what heads write, for which the output projection must be known; else it is about
            where they look.
    """

    name: ClassVar[str]
    writes: ClassVar[bool]

    @abstractmethod
    def changes(self, heads: Heads) -> Changes:
        """Return what is done to some heads."""


class OutputIntervention(Intervention):
    """Heads write something else than they do."""

    writes: ClassVar[bool] = True

    def changes(self, heads: Heads) -> Changes:
        """Return what is done to some heads."""
        return Changes(outputs={layer: partial(self._change, list(numbers)) for layer, numbers in heads.items()})

    @abstractmethod
    def replacement(
        self, rows: LayerRows, outputs: Float[Tensor, "batch row head width"]
    ) -> Float[Tensor, "batch row head width"]:
        """Return what all heads of a layer would write.

        Args:
            rows: of the layer.
            outputs: what they write.
        """

    def _change(self, heads: list[int], rows: LayerRows, outputs: Tensor) -> Tensor:
        changed = outputs.clone()
        changed[:, :, heads] = self.replacement(rows, outputs)[:, :, heads].to(outputs.dtype)
        return changed


class WeightIntervention(Intervention):
    """Heads look elsewhere than they do; the values that they read stay."""

    writes: ClassVar[bool] = False

    def changes(self, heads: Heads) -> Changes:
        """Return what is done to some heads."""
        return Changes(weights={layer: partial(self._change, list(numbers)) for layer, numbers in heads.items()})

    @abstractmethod
    def weights(self, heads: list[int], rows: LayerRows, answer: Attended) -> Float[Tensor, "batch head row key"]:
        """Return where some heads of a layer look instead; rows sum to 1, less what a learned sink takes.

        Args:
            heads: from 0.
            rows: of the layer.
            answer: where they look.
        """

    def _change(self, heads: list[int], rows: LayerRows, answer: Attended) -> tuple[list[int], Tensor]:
        return heads, self.weights(heads, rows, answer)


@dataclass(frozen=True, eq=False)
class FittingInputs:
    """The inputs that an intervention may learn from, and what the unchanged model's heads write in them.

    Attributes:
        questions: the inputs.
        vocabulary: of the tokenizer.
        encoder_decoder: whether the rows of a decoder are those of another text than the encoder's.
        visit: runs the model over them and hands on what each layer's heads write, batch by batch.
        seed: of random choices.
    """

    questions: Sequence[Question]
    vocabulary: Vocabulary
    encoder_decoder: bool
    visit: Callable[[OutputVisitor], None]
    seed: int = 0

    @property
    def documents(self) -> list[str]:
        """The documents of the inputs, each once."""
        return list(dict.fromkeys(question.segment.document for question in self.questions))


def check_several(inputs: FittingInputs, name: str) -> None:
    """Refuse to learn of other documents where there is only one.

    Raises:
        InputError: says so.
    """
    if len(inputs.documents) == 1:
        raise InputError(
            f"intervention {name} takes what heads write in other documents, and this text has one; expected two or "
            "more: give --intervention zero, or more text"
        )


Fit = Callable[[FittingInputs], Intervention]
"""Makes an intervention, with what it learns from inputs."""


def halves_of(documents: Sequence[str], *, seed: int = 0) -> dict[str, int]:
    """Divide documents in two halves of one size, or with a document more in the first: 0 or 1 for each.

    Args:
        documents: their ids.
        seed: of the division.
    """
    in_order = sorted(set(documents), key=lambda name: blake2b(f"{seed}/{name}".encode(), digest_size=8).digest())
    return {document: number % 2 for number, document in enumerate(in_order)}
