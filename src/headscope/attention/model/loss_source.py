"""A model run over segments with its loss, for each input or each question."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headscope.attention.model.model_pass import ModelPass
from headscope.attention.model.segment_source import SegmentSource
from headscope.encoding.batching import of_one_length
from headscope.encoding.loss_questions import NO_TARGET, Ask, Question
from headscope.encoding.segment import Segment, SegmentInfo
from headscope.encoding.vocabulary import Vocabulary
from headscope.errors import InputError, ModelError
from headscope.models.anatomy import Anatomy
from headscope.models.forward_inputs import model_inputs, no_cache
from headscope.models.losses import asked_logits, segment_losses
from headscope.models.placement import device_of


def question_losses(
    model: nn.Module, anatomy: Anatomy, vocabulary: Vocabulary, questions: Sequence[Question], *, batch_size: int
) -> NDArray[np.float64]:
    """Return the cross entropy of each question, the mean over its targets, in nats, `[question]`.

    Args:
        model: a transformers model that returns logits of tokens.
        anatomy: result of `examine` for it, or for its base model.
        vocabulary: vocabulary of the tokenizer.
        questions: inputs with their targets.
        batch_size: maximum number of inputs computed together.
    """
    losses = np.zeros(len(questions))
    indices = {id(question): index for index, question in enumerate(questions)}
    by_length = sorted(questions, key=lambda question: len(question.segment))
    device = device_of(model)
    with torch.inference_mode():
        for start in range(0, len(by_length), batch_size):
            for together in lists_together(by_length[start : start + batch_size], anatomy):
                batch, inputs, decoder = model_inputs(
                    [question.segment for question in together],
                    anatomy,
                    vocabulary,
                    decoders=decoders_of(together, anatomy),
                )
                targets = targets_of(together, (batch if decoder is None else decoder).info).to(device)
                with asked_logits(model, targets != NO_TARGET):
                    on_device = {name: tensor.to(device) for name, tensor in inputs.items()}
                    logits = model(**on_device, **no_cache(anatomy)).logits
                scores = logits if logits.ndim == 2 else logits[targets != NO_TARGET]
                losses[[indices[id(question)] for question in together]] = (
                    segment_losses(scores, targets).double().cpu().numpy()
                )
    return losses


@dataclass
class LossCounts:
    """Counts of the segments and targets of the loss; filled while a `LossSource` runs.

    Attributes:
        segments: segments with something to predict.
        targets: number of predicted tokens or classes.
        nothing: segments without a target.
        total: sum over segments of the mean loss over their targets, nats.
    """

    segments: int = 0
    targets: int = 0
    nothing: int = 0
    total: float = 0.0

    @property
    def mean(self) -> float:
        """Mean loss over segments, nats; NaN before the first."""
        return self.total / self.segments if self.segments else float("nan")

    @property
    def left_out(self) -> str | None:
        """A message with the number of inputs that were left out; None if none was."""
        if not self.nothing:
            return None
        return f"inputs left out because there is nothing to predict in them: {self.nothing:,}"

    def facts(self, loss: str) -> dict[str, Any]:
        """Return the entries of a manifest that describe the loss, given its name."""
        return {"loss": loss, "loss_mean": self.mean, "segments": self.segments, "targets": self.targets}

    def check(self) -> None:
        """Raise an error if no segment had anything to predict.

        Raises:
            InputError: no segment had a target.
        """
        if not self.segments:
            raise InputError(
                "nothing could be predicted: every input is of special tokens alone, or of one token; give longer text"
            )

    def merge(self, other: "LossCounts") -> None:
        """Add the counts of another."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the counts as named arrays."""
        return {name: np.array(value) for name, value in vars(self).items()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore the counts from the arrays that `state()` returned."""
        for name in vars(self):
            setattr(self, name, state[name].item())


@dataclass(eq=False, repr=False)
class LossSource(SegmentSource):
    """Questions in batches for a model that returns logits.

    The loss of a batch is the sum over its segments of the mean over a segment's targets, so that the results of a
    segment depend on its own loss only, not on the rest of the batch.

    Args:
        model, anatomy, vocabulary, batches, padding_side: as `SegmentSource` takes them; the model returns logits.
        ask: makes the question (the prediction targets) of a segment.

    Attributes:
        counts: counts of the segments and targets so far.
        refusal: end of the error message for a model whose attention cannot be read at the interface.

    Raises:
        ModelError: the model does not pass its attention to the tap, or padding on the left changes its numbers.
    """

    refusal: ClassVar[str]

    ask: Ask

    def __post_init__(self) -> None:
        if self.anatomy.path == "fallback":
            raise ModelError(
                f"{type(self.model).__name__} does not hand its attention to transformers' attention interface, so "
                f"{self.refusal}"
            )
        super().__post_init__()
        self.counts = LossCounts()

    def questions(self) -> Iterator[list[Question]]:
        """Yield the questions of the batches in lists that the model may read together.

        Segments without anything to predict are left out and counted.
        """
        for segments in self.batches:
            per_segment = [self.ask(segment) for segment in segments]
            questions = [question for question in per_segment if question is not None]
            self.counts.nothing += len(per_segment) - len(questions)
            yield from lists_together(questions, self.anatomy)

    def count(self, questions: Sequence[Question], losses: Tensor) -> None:
        """Count answered questions, given the mean loss of each, `[batch]`."""
        self.counts.segments += len(questions)
        self.counts.targets += sum(question.number for question in questions)
        self.counts.total += float(losses.detach().double().sum())


def lists_together(questions: Sequence[Question], anatomy: Anatomy) -> Iterator[list[Question]]:
    """Yield questions in nonempty lists that a model may read together."""
    for together in of_one_length(questions, together=anatomy.together, lengths=_lengths):
        if together:
            yield together


def decoders_of(questions: Sequence[Question], anatomy: Anatomy) -> list[Segment] | None:
    """Return the decoder inputs of an encoder-decoder; None for other models."""
    if not anatomy.encoder_decoder:
        return None
    return [question.decoder for question in questions if question.decoder is not None]


@contextmanager
def question_batch(questions: Sequence[Question], shared: ModelPass) -> Iterator[tuple[dict[str, Tensor], Tensor]]:
    """Begin a batch of questions; yield the model's arguments for it and its targets.

    Raises:
        MemoryShortError: memory runs out in the block.
    """
    segments = [question.segment for question in questions]
    with shared.batch(segments, decoders_of(questions, shared.anatomy)) as inputs:
        yield inputs, targets_of(questions, shared.sides["decoder"]).to(shared.device)


def targets_of(questions: Sequence[Question], tokens: SegmentInfo) -> Tensor:
    """Lay out the prediction targets of each position of a batch, on the host, `[batch, position]`.

    If each segment as a whole has one class to predict: the classes, `[batch, 1]`.

    Args:
        questions: questions of the batch.
        tokens: tokens of the side of the model that predicts.
    """
    if all(question.of_whole for question in questions):
        return torch.from_numpy(np.stack([question.targets for question in questions]))
    predicting = tokens.on_host.valid.numpy()
    targets = np.full(predicting.shape, NO_TARGET, dtype=np.int64)
    targets[predicting] = np.concatenate([question.targets for question in questions])
    return torch.from_numpy(targets)


def _lengths(question: Question) -> tuple[int, int]:
    """Return the lengths of the encoder's and the decoder's input."""
    return len(question.segment), 0 if question.decoder is None else len(question.decoder)
