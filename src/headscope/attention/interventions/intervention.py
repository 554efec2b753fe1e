"""The interface of interventions on heads, and how an intervention learns from head outputs in other documents."""

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
"""Some heads of each layer, counted from 0."""
OutputVisitor = Callable[[LayerRows, Float[Tensor, "batch row head width"]], object]
"""Receives the outputs of a layer's heads in a batch."""


class Intervention(ABC):
    """An intervention on heads; it can be applied to any set of heads at once.

    Attributes:
        name: name in options and tables.
        writes: True if the intervention replaces head outputs, for which the output projection must be known; False if
            it changes attention weights.
    """

    name: ClassVar[str]
    writes: ClassVar[bool]

    @abstractmethod
    def changes(self, heads: Heads) -> Changes:
        """Return the changes that apply the intervention to some heads."""


class OutputIntervention(Intervention):
    """An intervention that replaces the outputs of heads."""

    writes: ClassVar[bool] = True

    def changes(self, heads: Heads) -> Changes:
        """Return the changes that apply the intervention to some heads."""
        return Changes(outputs={layer: partial(self._change, list(numbers)) for layer, numbers in heads.items()})

    @abstractmethod
    def replacement(
        self, rows: LayerRows, outputs: Float[Tensor, "batch row head width"]
    ) -> Float[Tensor, "batch row head width"]:
        """Return the replacement outputs of all heads of a layer.

        Args:
            rows: rows of the layer.
            outputs: outputs of the unchanged heads.
        """

    def _change(self, heads: list[int], rows: LayerRows, outputs: Tensor) -> Tensor:
        changed = outputs.clone()
        changed[:, :, heads] = self.replacement(rows, outputs)[:, :, heads].to(outputs.dtype)
        return changed


class WeightIntervention(Intervention):
    """An intervention that replaces attention weights; the values that heads read stay the same."""

    writes: ClassVar[bool] = False

    def changes(self, heads: Heads) -> Changes:
        """Return the changes that apply the intervention to some heads."""
        return Changes(weights={layer: partial(self._change, list(numbers)) for layer, numbers in heads.items()})

    @abstractmethod
    def weights(self, heads: list[int], rows: LayerRows, answer: Attended) -> Float[Tensor, "batch head row key"]:
        """Return the replacement attention weights of some heads; rows sum to 1 minus the weight of a learned sink.

        Args:
            heads: numbers of the heads, from 0.
            rows: rows of the layer.
            answer: attention of the unchanged heads.
        """

    def _change(self, heads: list[int], rows: LayerRows, answer: Attended) -> tuple[list[int], Tensor]:
        return heads, self.weights(heads, rows, answer)


@dataclass(frozen=True, eq=False)
class FittingInputs:
    """The inputs from which an intervention may learn, and the head outputs of the unchanged model on them.

    Attributes:
        questions: the inputs.
        vocabulary: vocabulary of the tokenizer.
        encoder_decoder: whether decoder rows belong to another text than encoder rows.
        visit: runs the model over the inputs and passes on the head outputs of each layer, batch by batch.
        seed: seed of random choices.
    """

    questions: Sequence[Question]
    vocabulary: Vocabulary
    encoder_decoder: bool
    visit: Callable[[OutputVisitor], None]
    seed: int = 0

    @property
    def documents(self) -> list[str]:
        """The documents of the inputs, without duplicates."""
        return list(dict.fromkeys(question.segment.document for question in self.questions))


def check_several(inputs: FittingInputs, name: str) -> None:
    """Refuse to learn from other documents if there is only one document.

    Raises:
        InputError: there is only one document.
    """
    if len(inputs.documents) == 1:
        raise InputError(
            f"intervention {name} takes what heads write in other documents, and this text has one; expected two or "
            "more: give --intervention zero, or more text"
        )


Fit = Callable[[FittingInputs], Intervention]
"""Makes an intervention, after learning from the inputs if it needs to."""


def halves_of(documents: Sequence[str], *, seed: int = 0) -> dict[str, int]:
    """Split documents into two halves, 0 or 1 for each; the first half gets the extra document of an odd number.

    Args:
        documents: ids of the documents.
        seed: seed of the split.
    """
    in_order = sorted(set(documents), key=lambda name: blake2b(f"{seed}/{name}".encode(), digest_size=8).digest())
    return {document: number % 2 for number, document in enumerate(in_order)}
