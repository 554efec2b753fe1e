"""Interventions on heads: their declaration, and their fit to the head outputs of the unchanged pass."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b

import torch
from jaxtyping import Float
from torch import Tensor

from headscope.attention.interventions.block_plan import Layer
from headscope.attention.interventions.changed_pass import ChangedPasses, Changes, LayerRows
from headscope.attention.model.loss_source import lists_together, question_batch
from headscope.attention.model.tap import EagerOutput
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.encoding.loss_questions import NO_TARGET, Ask, Question
from headscope.encoding.segment import Segment
from headscope.encoding.vocabulary import Vocabulary
from headscope.errors import InputError, ModelError
from headscope.models.losses import asked_logits

Heads = Mapping[Layer, Sequence[int]]
"""Some heads of each layer, counted from 0."""
OutputVisitor = Callable[[LayerRows, Float[Tensor, "batch row head width"]], None]
"""Receives the outputs of a layer's heads in a batch."""


class Intervention(ABC):
    """An intervention on heads; it can be applied to any set of heads at once."""

    @abstractmethod
    def changes(self, heads: Heads) -> Changes:
        """Return the changes that apply the intervention to some heads."""


class OutputIntervention(Intervention):
    """An intervention that replaces the outputs of heads, for which the output projection must be known."""

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

    def changes(self, heads: Heads) -> Changes:
        """Return the changes that apply the intervention to some heads."""
        return Changes(weights={layer: partial(self._change, list(numbers)) for layer, numbers in heads.items()})

    @abstractmethod
    def weights(self, heads: list[int], rows: LayerRows, answer: EagerOutput) -> Float[Tensor, "batch head row key"]:
        """Return the replacement attention weights of some heads; rows sum to 1 minus the weight of a learned sink.

        Args:
            heads: numbers of the heads, from 0.
            rows: rows of the layer.
            answer: attention of the unchanged heads.
        """

    def _change(self, heads: list[int], rows: LayerRows, answer: EagerOutput) -> tuple[list[int], Tensor]:
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

    def check_several(self, name: str) -> None:
        """Refuse to learn from other documents if there is only one document.

        Args:
            name: name of the intervention.

        Raises:
            InputError: there is only one document.
        """
        if len(self.documents) == 1:
            raise InputError(
                f"intervention {name} takes what heads write in other documents, and this text has one; expected two "
                "or more: give --intervention zero, or more text"
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


def fit_interventions(
    fits: Sequence[Fit], fitting: Callable[[], Iterable[list[Segment]]], *, ask: Ask, passes: ChangedPasses, seed: int
) -> tuple[Intervention, ...]:
    """Make interventions.

    Args:
        fits: functions that make one intervention each.
        fitting: returns the batches of segments to learn from.
        ask: makes the question (the prediction targets) of a segment.
        passes: passes of the model, with a consumer that ignores tiles.
        seed: seed of the random draws of interventions.

    Raises:
        ModelError: an intervention replaces head outputs, and an output projection was not found.
    """
    batches = [[q for segment in batch if (q := ask(segment)) is not None] for batch in fitting()]
    inputs = FittingInputs(
        questions=[question for batch in batches for question in batch],
        vocabulary=passes.shared.vocabulary,
        encoder_decoder=passes.shared.anatomy.encoder_decoder,
        visit=lambda visitor: _visit(passes, batches, visitor),
        seed=seed,
    )
    interventions = tuple(fit(inputs) for fit in fits)
    if any(isinstance(intervention, OutputIntervention) for intervention in interventions):
        _check_projections(passes)
    return interventions


def _visit(passes: ChangedPasses, batches: Sequence[list[Question]], visitor: OutputVisitor) -> None:
    """Run the unchanged model and pass on the head outputs of each layer."""
    _check_projections(passes)
    shared = passes.shared
    watcher = Changes(outputs=dict.fromkeys(passes.projections.layers, visitor))
    with passes.listening(), torch.inference_mode():
        for batch in batches:
            for questions in lists_together(batch, shared.anatomy):
                with (
                    question_batch(questions, shared) as (inputs, targets),
                    asked_logits(shared.model, targets != NO_TARGET),
                ):
                    passes.unchanged(inputs, watcher)


def _check_projections(passes: ChangedPasses) -> None:
    """Refuse to change head outputs if the output projection of a layer was not found.

    Raises:
        ModelError: a projection is missing; names the layer and the reason.
    """
    for (kind, layer), why in passes.projections.missing.items():
        raise ModelError(
            f"{kind} layer {layer + 1}: {why}; what its heads write cannot be changed: choose intervention uniform "
            "or sink, or another model"
        )


class NoTiles:
    """A consumer that ignores tiles: the model is run only for its head outputs."""

    def begin(self, batch: Batch) -> None:
        """Start a batch."""

    def update(self, tile: AttentionTile) -> None:
        """Ignore a tile."""

    def end(self, batch: Batch) -> None:
        """Close the batch."""
