"""A checkpoint without some of its heads, which plain transformers loads."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from torch import nn

from headscope.attention.head_id import HeadId
from headscope.attention.interventions.intervention import halves_of
from headscope.attention.model.examination import examine
from headscope.attention.model.loss_source import question_losses
from headscope.attention.model.projections import find_projections
from headscope.attention.model.removed_heads import projection_means, remove_heads
from headscope.corpora.document import Document
from headscope.encoding.encoder import Encoder
from headscope.encoding.line_packing import Packer
from headscope.encoding.loss_questions import Question
from headscope.encoding.segment import Segment
from headscope.errors import InputError, ModelError
from headscope.installing import __version__
from headscope.models.anatomy import Anatomy, KindLayout
from headscope.models.in_memory import without_head
from headscope.models.load_model import LoadedModel, longest_input
from headscope.models.losses import ask_of, loss_of
from headscope.models.task_heads import save_folder
from headscope.scans.prepare.input_sizes import auto_batch_size, packing_of
from headscope.statistics.inference.confidence import difference_interval
from headscope.statistics.sums.groups import group_numbers
from headscope.storage.lock import placed
from headscope.storage.places import MARK, mark_content
from headscope.visible import capital, count

MOST_INPUTS = 400
"""Maximum number of inputs on which the loss is measured, spread over the documents."""
_LENGTH = 128
_TARGETS = {"mlm": "hidden words", "clm": "next tokens", "denoise": "left-out spans"}


@dataclass(frozen=True)
class LossChange:
    """The loss of a model before and after, on the same inputs.

    Attributes:
        targets: description of the model's prediction targets.
        before, after: mean over inputs of the mean over their targets, nats.
        low, high: 95% interval of after minus before, over documents; NaN with fewer than 10.
        n_inputs: number of inputs.
    """

    targets: str
    before: float
    after: float
    low: float
    high: float
    n_inputs: int

    def __str__(self) -> str:
        added = f"{self.after - self.before:+.3f} nats"
        interval = "" if np.isnan(self.low) else f", 95% interval {self.low:+.3f} to {self.high:+.3f}"
        return (
            f"loss on the {self.targets} of {count(self.n_inputs, 'input')}: {self.before:.3f} nats before, "
            f"{self.after:.3f} after ({added}{interval})"
        )


class PruningText:
    """Inputs of a text, with the model's prediction targets.

    Args:
        loaded: model with the head of its loss.
        anatomy: result of `examine` for the model or its base model.
        encoder: encoder that wraps its tokenizer.
        documents: documents of the text.
        fitting: whether half of the documents are reserved for fitting means.

    Attributes:
        fitting: inputs for fitting.
        questions: questions that measure the loss.

    Raises:
        ModelError: the model does not predict tokens.
        InputError: the text has nothing to predict, or it has one document where two are needed.
    """

    def __init__(
        self, loaded: LoadedModel, anatomy: Anatomy, encoder: Encoder, documents: Iterable[Document], *, fitting: bool
    ) -> None:
        if loaded.model.get_output_embeddings() is None:
            raise ModelError(
                f"{loaded.name} is saved as {type(loaded.model).__name__}, which predicts no tokens, so that its loss "
                "is not known; leave --text out"
            )
        self._loaded, self._anatomy, self._encoder = loaded, anatomy, encoder
        segments = self._segments(list(documents))
        halves = halves_of([segment.document for segment in segments]) if fitting else {}
        if fitting and len(halves) < 2:
            raise InputError(
                "means are fitted on half of the documents and measured on the others, and this text has one; expected "
                "two or more, apart by blank lines"
            )
        self.fitting = [segment for segment in segments if halves.get(segment.document) == 0]
        self._loss = loss_of(anatomy)
        ask = ask_of(self._loss, loaded.tokenizer, anatomy)
        measuring = [segment for segment in segments if halves.get(segment.document) != 0]
        self.questions: list[Question] = [each for each in map(ask, measuring) if each is not None]
        if not self.questions:
            raise InputError(
                "nothing can be predicted of the text: every input is of special tokens alone, or of one token; give "
                "longer text"
            )

    def losses(self) -> NDArray[np.float64]:
        """Return the loss of the model in its current state on each question, nats."""
        model: nn.Module = self._loaded.model
        size = auto_batch_size(_LENGTH, self._anatomy, self._loaded)
        return question_losses(model, self._anatomy, self._encoder.vocabulary, self.questions, batch_size=size)

    def change(self, before: NDArray[np.float64], after: NDArray[np.float64]) -> LossChange:
        """Return the change between two states of the model, paired by document."""
        groups = group_numbers([question.segment.document for question in self.questions])
        counts = np.bincount(groups)
        sums = [np.bincount(groups, weights=losses) for losses in (after, before)]
        interval = difference_interval(sums[0], counts, sums[1], counts)
        return LossChange(
            targets=_TARGETS[self._loss],
            before=float(before.mean()),
            after=float(after.mean()),
            low=float(interval.low),
            high=float(interval.high),
            n_inputs=len(before),
        )

    def _segments(self, documents: list[Document]) -> list[Segment]:
        packing = packing_of(self._anatomy)
        if any(len(document.lines) <= 1 for document in documents):
            packing = "single"  # a single line makes no pair
        length = min(_LENGTH, longest_input(self._loaded, self._anatomy))
        packer = Packer(self._encoder, packing=packing, max_length=length)
        return list(packer.pack(documents, max_inputs=MOST_INPUTS))


HeadChoice = Callable[[Sequence[KindLayout]], tuple[HeadId, ...]]
"""A function that chooses heads of a model, in order."""


@dataclass(frozen=True, kw_only=True)
class Pruned:
    """A pruned checkpoint on disk.

    Attributes:
        path: its folder.
        removed: heads whose output is removed, in order.
        heads: number of heads of the model.
        loss: loss before and after, if a text was given.
    """

    path: Path
    removed: tuple[HeadId, ...]
    heads: int
    loss: LossChange | None = None


def write_pruned(
    loaded: LoadedModel,
    out: Path,
    *,
    heads: HeadChoice,
    intervention: str = "zero",
    documents: Sequence[Document] = (),
    replace: bool = False,
) -> Pruned:
    """Write a model's checkpoint with the rows of the output projection of some heads set to zero.

    Shapes and configuration stay, so that every program that reads the model reads the new one. With the intervention
    `mean`, the heads' mean output goes into the projection's bias: it is fitted on half of the documents, and the loss
    is measured on the others.

    Args:
        loaded: whole model from `load_checkpoint`; its weights are changed.
        out: the new folder.
        heads: function that chooses the heads to remove from the model's heads.
        intervention: one of `encoding.choices.REMOVALS`.
        documents: text on which the loss is measured; needed for means.
        replace: whether an existing `out` is replaced.

    Raises:
        OptionError: a head does not exist, or none is left to remove.
        ModelError: a layer's output projection cannot be changed, or the model does not predict tokens.
        InputError: the text has nothing to predict.
        OutputError: `out` exists.
    """
    bare, encoder = without_head(loaded).model, Encoder(loaded.tokenizer)
    anatomy = examine(bare, encoder.vocabulary)
    removed = heads(anatomy.layout)
    fits = intervention == "mean"
    text = PruningText(loaded, anatomy, encoder, documents, fitting=fits) if documents else None
    with placed(out, replace=replace) as part:
        projections = find_projections(bare, anatomy, encoder.vocabulary)
        means, before = None, None if text is None else text.losses()
        if text is not None and fits:
            means = projection_means(bare, anatomy, encoder.vocabulary, projections, text.fitting)
        remove_heads(projections, anatomy.layout, removed, means=means)
        loss = None if text is None or before is None else text.change(before, text.losses())
        # Weights that the checkpoint lacks (a pooler) are random here, and are left out of the new one, too.
        weights = {k: v for k, v in loaded.model.state_dict().items() if k not in loaded.untrained}
        save_folder(part, loaded.model, loaded.tokenizer, weights=weights)
        number = sum(each.layers * each.heads for each in anatomy.layout)
        pruned = Pruned(path=out, removed=removed, heads=number, loss=loss)
        facts = mark_content(command="prune", removed=[str(head) for head in removed])
        (part / MARK).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
        (part / "README.md").write_text(_model_card(loaded, pruned, means=fits), encoding="utf-8")
    return pruned


def _model_card(loaded: LoadedModel, pruned: Pruned, *, means: bool) -> str:
    names = ", ".join(str(head) for head in pruned.removed)
    kept = "What they wrote on average is in the projection's bias. " if means else ""
    loss = "" if pruned.loss is None else f"\n{capital(str(pruned.loss))}.\n"
    return (
        f"# {loaded.name} without {count(len(pruned.removed), 'head')}\n\n"
        f"{count(len(pruned.removed), 'attention head')} of {pruned.heads:,} of {loaded.name} write nothing: their "
        f"rows of the output projection are zero (headscope {__version__}). {kept}All else is as it was.\n\n"
        f"Removed: {names}.\n{loss}"
    )
