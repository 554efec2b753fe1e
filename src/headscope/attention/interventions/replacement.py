"""Interventions that replace head outputs (by zero, the mean, or the output in a row of the same class of another
document) or weights (by uniform weights or a sink)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from headscope.attention.interventions.block_plan import Layer
from headscope.attention.interventions.changed_pass import LayerRows
from headscope.attention.interventions.intervention import (
    FittingInputs,
    OutputIntervention,
    WeightIntervention,
    halves_of,
)
from headscope.attention.model.tap import EagerOutput
from headscope.encoding.batching import collate
from headscope.encoding.loss_questions import Question
from headscope.encoding.segment import Segment, SegmentInfo
from headscope.encoding.vocabulary import KeyClass

ROW_CLASSES = ("cls", "sep", "first", "other")
"""`cls` includes the first token of a decoder without [CLS]; `first` is another first token that is not `sep`."""
_SINKS = (KeyClass.CLS, KeyClass.SEP)


def row_classes(tokens: SegmentInfo) -> Int[Tensor, "batch row"]:
    """Return the class of each attending token, as its position in `ROW_CLASSES`; padding is `other`."""
    cls, sep, first, other = range(len(ROW_CLASSES))
    classes = torch.where(tokens.positions == 0, first, other)
    classes = torch.where(tokens.classes == KeyClass.SEP, sep, classes)
    return torch.where(tokens.classes == KeyClass.CLS, cls, classes).masked_fill(~tokens.valid, other)


class Zero(OutputIntervention):
    """An intervention that replaces head outputs by 0."""

    def replacement(self, rows: LayerRows, outputs: Tensor) -> Tensor:
        """Return the replacement outputs of all heads of a layer."""
        return torch.zeros_like(outputs)


@dataclass(frozen=True, eq=False)
class Mean(OutputIntervention):
    """Replace a head's output in every row by its mean over rows of the same class in the other half of the documents.

    Attributes:
        means: means by layer, `[half, class, head, width]`; a class that is missing in a half has the mean over all its
            rows.
        halves: half of each document; the documents of one half are measured with the means of the other.
    """

    means: dict[Layer, Float[Tensor, "half class head width"]]
    halves: dict[str, int]

    @classmethod
    def fitted(cls, inputs: FittingInputs) -> "Mean":
        """Compute the means over some inputs.

        Raises:
            InputError: all inputs belong to one document.
        """
        inputs.check_several("mean")
        halves = halves_of(inputs.documents, seed=inputs.seed)
        sums: dict[Layer, Tensor] = {}
        numbers: dict[Layer, Tensor] = {}

        def visit(rows: LayerRows, outputs: Tensor) -> None:
            size = len(ROW_CLASSES)
            half = torch.tensor([halves[document] for document in rows.queries.documents])
            cells = (row_classes(rows.queries) + size * half.to(outputs.device)[:, None])[rows.queries.valid]
            of_rows = outputs[rows.queries.valid].double()
            if rows.layer not in sums:
                sums[rows.layer] = of_rows.new_zeros(2 * size, *of_rows.shape[1:])
                numbers[rows.layer] = of_rows.new_zeros(2 * size)
            sums[rows.layer].index_add_(0, cells, of_rows)
            numbers[rows.layer].index_add_(0, cells, torch.ones_like(cells, dtype=torch.float64))

        inputs.visit(visit)
        return cls({layer: _means(sums[layer], numbers[layer]) for layer in sums}, halves)

    def replacement(self, rows: LayerRows, outputs: Tensor) -> Tensor:
        """Return the replacement outputs of all heads of a layer."""
        fitting = torch.tensor([1 - self.halves[document] for document in rows.queries.documents])
        return self.means[rows.layer][fitting.to(outputs.device)[:, None], row_classes(rows.queries)]


def _means(sums: Tensor, numbers: Tensor) -> Tensor:
    """Divide sums over the rows of each half and class, `[half * class, head, width]`, by the numbers of rows."""
    sums, numbers = sums.reshape(2, -1, *sums.shape[1:]), numbers.reshape(2, -1)
    of_all = sums.sum(1, keepdim=True) / numbers.sum(1).clamp(min=1)[:, None, None, None]
    of_class = sums / numbers.clamp(min=1)[..., None, None]
    return torch.where(numbers[..., None, None] > 0, of_class, of_all).float()


def uniform_weights(rows: LayerRows, *, sink: bool, dtype: torch.dtype) -> Float[Tensor, "batch 1 row key"]:
    """Return equal weights for all keys that a row sees; a learned sink counts as one more key, and takes its share.

    Args:
        rows: rows of the layer.
        sink: whether the layer has a learned sink.
        dtype: dtype of the weights.
    """
    visible = rows.visibility.visible
    number = visible.sum(-1, keepdim=True) + sink
    return (visible / number.clamp(min=1))[:, None].to(dtype)


class Uniform(WeightIntervention):
    """An intervention with uniform attention over all keys that a row sees."""

    def weights(self, heads: list[int], rows: LayerRows, answer: EagerOutput) -> Tensor:
        """Return the replacement weights of some heads of a layer."""
        weights = uniform_weights(rows, sink=answer.sink is not None, dtype=answer.weights.dtype)
        return weights.expand(-1, len(heads), -1, -1)


class Sink(WeightIntervention):
    """An intervention with all attention on the row's most attended sink: a first token, a separator, a learned sink.

    Rows that see no sink are not changed.
    """

    def weights(self, heads: list[int], rows: LayerRows, answer: EagerOutput) -> Tensor:
        """Return the replacement weights of some heads of a layer."""
        weights = answer.weights[:, heads]
        is_sink = torch.isin(rows.keys.classes, torch.tensor(_SINKS, device=weights.device))
        sinks = (is_sink[:, None] & rows.visibility.visible)[:, None]
        most, key = torch.where(sinks, weights, -1.0).max(-1, keepdim=True)
        on_key = torch.zeros_like(weights).scatter_(-1, key, 1.0)
        changed = torch.where(most >= 0, on_key, weights)
        if answer.sink is None:
            return changed
        # The weight of a learned sink adds the value of no key.
        return torch.where(answer.sink[:, heads][..., None] >= most, 0.0, changed)


MOST_DONORS = 64
"""Maximum number of rows of each class that are kept as replacements."""
_OTHER = ROW_CLASSES.index("other")


@dataclass(frozen=True)
class Donor:
    """A row of an input that may replace rows of other documents."""

    document: str
    index: int
    position: int
    row_class: int


@dataclass(frozen=True, eq=False)
class Resample(OutputIntervention):
    """Replace a head's output in every row by its output in a row of the same class of another document, drawn by hash.

    All heads take the same row of the other document, so that the outputs of heads that are changed together match.

    Attributes:
        donors: the rows, by the side that reads them, encoder or decoder.
        outputs: head outputs of each layer in these rows, `[donor, head, width]`.
        seed: seed of the random draw.
    """

    donors: dict[str, tuple[Donor, ...]]
    outputs: dict[Layer, Float[Tensor, "donor head width"]]
    seed: int = 0
    _drawn: dict[tuple[object, ...], Tensor] = field(default_factory=dict, repr=False)

    @classmethod
    def fitted(cls, inputs: FittingInputs) -> "Resample":
        """Choose donor rows from some inputs.

        Raises:
            InputError: all inputs belong to one document.
        """
        inputs.check_several("resample")
        donors = {side: _donors(inputs, side) for side in ("encoder", "decoder")}
        wanted = {
            side: {(donor.document, donor.index, donor.position): at for at, donor in enumerate(several)}
            for side, several in donors.items()
        }
        outputs: dict[Layer, Tensor] = {}

        def visit(rows: LayerRows, written: Tensor) -> None:
            side = _side(rows.layer)
            if rows.layer not in outputs:
                outputs[rows.layer] = written.new_zeros(len(donors[side]), *written.shape[2:])
            for item, position in rows.queries.valid.nonzero().tolist():
                row = (
                    rows.queries.documents[item],
                    rows.queries.indices[item],
                    int(rows.queries.positions[item, position]),
                )
                if row in wanted[side]:
                    outputs[rows.layer][wanted[side][row]] = written[item, position]

        inputs.visit(visit)
        return cls(donors, outputs, inputs.seed)

    def replacement(self, rows: LayerRows, outputs: Tensor) -> Tensor:
        """Return the replacement outputs of all heads of a layer."""
        side = _side(rows.layer)
        key = side, rows.queries.documents, rows.queries.indices
        if key not in self._drawn:
            self._drawn.clear()  # draws of the previous batch
            self._drawn[key] = _draw(rows.queries, self.donors[side], seed=self.seed).to(outputs.device)
        return self.outputs[rows.layer][self._drawn[key]]


def _side(layer: Layer) -> str:
    return "encoder" if layer[0] == "encoder" else "decoder"


def _donors(inputs: FittingInputs, side: str) -> tuple[Donor, ...]:
    """Return the rows with the smallest hashes in each class, from two documents or more if the class has them."""
    by_class: list[list[tuple[bytes, Donor]]] = [[] for _ in ROW_CLASSES]
    for question in inputs.questions:
        segment = _read_by(question, side, inputs)
        info = collate([segment], inputs.vocabulary, decoder=side == "decoder").info
        for position, row_class in enumerate(row_classes(info)[0].tolist()):
            name = f"{inputs.seed}/{segment.index}/{position}/{segment.document}"
            donor = Donor(segment.document, segment.index, position, row_class)
            by_class[row_class].append((blake2b(name.encode(), digest_size=8).digest(), donor))
    kept = []
    for candidates in by_class:
        candidates.sort(key=lambda each: each[0])
        chosen = [donor for _, donor in candidates[:MOST_DONORS]]
        if len({donor.document for donor in chosen}) == 1:
            # A document that dominates the text needs a row of another document.
            more = [donor for _, donor in candidates if donor.document != chosen[0].document]
            chosen += more[:1]
        kept += chosen
    return tuple(kept)


def _read_by(question: Question, side: str, inputs: FittingInputs) -> Segment:
    if side == "decoder" and inputs.encoder_decoder:
        assert question.decoder is not None
        return question.decoder
    return question.segment


def _draw(tokens: SegmentInfo, donors: Sequence[Donor], *, seed: int) -> Tensor:
    """Draw a donor of the same class and another document for every row, `[batch, row]`; padding has the first."""
    classes, valid = row_classes(tokens).cpu().numpy(), tokens.valid.cpu().numpy()
    documents = np.array([donor.document for donor in donors])
    of_class = np.array([donor.row_class for donor in donors])
    drawn = np.zeros(classes.shape, dtype=np.int64)
    for item, (document, index) in enumerate(zip(tokens.documents, tokens.indices, strict=True)):
        key = blake2b(f"{seed}/{index}/{document}/donors".encode(), digest_size=16).digest()
        generator = np.random.default_rng(int.from_bytes(key, "little"))
        positions = np.flatnonzero(valid[item])
        lots = generator.random(len(positions))
        others = documents != document
        for position, lot in zip(positions, lots, strict=True):
            choices = _choices(others, of_class, int(classes[item, position]))
            drawn[item, position] = choices[int(lot * len(choices))]
    return torch.from_numpy(drawn)


def _choices(others: NDArray[np.bool_], of_class: NDArray[np.int64], row_class: int) -> NDArray[np.int64]:
    """Return the donors of a class from other documents; if there are none, of class "other", and then of any class."""
    choices = np.flatnonzero(others & (of_class == row_class))
    if not len(choices):
        choices = np.flatnonzero(others & (of_class == _OTHER))
    return choices if len(choices) else np.flatnonzero(others)
