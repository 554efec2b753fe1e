"""Make interventions, including what they learn from the head outputs of the unchanged model."""

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

from headscope.attention.interventions.changed_pass import ChangedPasses, Changes, LayerRows
from headscope.attention.interventions.intervention import Fit, FittingInputs, Intervention, OutputVisitor
from headscope.attention.model.loss_source import lists_together, question_batch
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.encoding.questions.loss_questions import NO_TARGET, Ask, Question
from headscope.encoding.segment import Segment
from headscope.errors import ModelError
from headscope.models.losses import asked_logits


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
    if any(intervention.writes for intervention in interventions):
        _check_projections(passes)
    return interventions


def _visit(passes: ChangedPasses, batches: Sequence[list[Question]], visitor: OutputVisitor) -> None:
    """Run the unchanged model and pass on the head outputs of each layer."""
    _check_projections(passes)
    shared = passes.shared

    def look(rows: LayerRows, outputs: Tensor) -> None:
        visitor(rows, outputs)

    changes = Changes(outputs=dict.fromkeys(passes.projections.layers, look))
    with passes.listening(), torch.inference_mode():
        for batch in batches:
            for questions in lists_together(batch, shared.anatomy):
                with (
                    question_batch(questions, shared) as (inputs, targets),
                    asked_logits(shared.model, targets != NO_TARGET),
                ):
                    passes.unchanged(inputs, changes=changes)


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
