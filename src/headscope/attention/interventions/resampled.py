"""An intervention on head outputs: the output in a row of the same class of another document."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from headscope.attention.interventions.block_plan import Layer
from headscope.attention.interventions.changed_pass import LayerRows
from headscope.attention.interventions.intervention import FittingInputs, OutputIntervention, check_several
from headscope.attention.interventions.replacement import ROW_CLASSES, row_classes
from headscope.encoding.batching import collate
from headscope.encoding.loss_questions import Question
from headscope.encoding.segment import Segment, SegmentInfo

DONORS = 64
"""Number of rows of each class that are kept as replacements."""
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
    name: ClassVar[str] = "resample"
    _drawn: dict[tuple[object, ...], Tensor] = field(default_factory=dict, repr=False)

    @classmethod
    def fitted(cls, inputs: FittingInputs) -> "Resample":
        """Choose donor rows from some inputs.

        Raises:
            InputError: all inputs belong to one document.
        """
        check_several(inputs, cls.name)
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
    """Return the rows with the smallest hashes in each class."""
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
        kept += [donor for _, donor in candidates[:DONORS]]
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
