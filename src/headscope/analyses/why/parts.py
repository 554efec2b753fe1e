"""The parts of a tensor: what each source of a model's stream contributes to it; computed when they are first read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from headscope.attention.head_id import HeadId

Part = Literal["token", "position", "segment", "head", "mlp", "output_bias", "bias", "position_bias", "encoder", "read"]


class Source(NamedTuple):
    """A source of the stream.

    Attributes:
        part: `token`, `position` or `segment` embedding, a `head`, an `mlp`, the biases of output projections
            (`output_bias`), all other constants (`bias`), the position bias that is added to scores, or the encoder's
            final states, which cross attention reads; `read` is all that a layer reads.
        kind: kind of attention of a head; for an MLP, that of the layer before it; empty for others.
        layer: 0-based layer of a head or an MLP; -1 for others.
        head: 0-based head; the number of the input for `read`; -1 for others.
        replaced: True for a replacement of this source, which does not count in the sum.
    """

    part: Part
    kind: str = ""
    layer: int = -1
    head: int = -1
    replaced: bool = False


NAMES: Mapping[str, str] = {
    "token": "token embedding",
    "position": "position embedding",
    "segment": "segment embedding",
    "bias": "biases",
    "output_bias": "output biases",
    "position_bias": "position bias",
    "encoder": "encoder output",
    "others": "other sources",
}


def label_of(source: Source) -> str:
    """Return the name of a source: `1-1`, `cross 1-1`, `MLP 1`, `token embedding`."""
    if source.part == "head":
        return str(HeadId.at(source.kind, source.layer, source.head))
    if source.part == "mlp":
        return f"MLP {source.layer + 1}" if source.layer >= 0 else "before layer 1"
    return NAMES[source.part]


BIAS, OUTPUT_BIAS = Source("bias"), Source("output_bias")
POSITION_BIAS, ENCODER = Source("position_bias"), Source("encoder")
Sources = tuple[Source, ...]


class Block:
    """Parts of several sources, `[source, ...]`, computed once, when they are first read."""

    def __init__(self, make: Callable[[], Tensor]) -> None:
        self._make = make

    @cached_property
    def tensor(self) -> Tensor:
        """The parts, `[source, ...]`."""
        tensor = self._make()
        del self._make  # and with it the tensors that the function refers to
        return tensor

    @cached_property
    def sum(self) -> Tensor:
        """The sum of the parts, computed once."""
        return self.tensor.sum(0)


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of a tensor: blocks of sources whose sum is the tensor.

    Attributes:
        blocks: parts of each group of sources.
        origin: other parts, and the linear function of blocks `[source, ...]` that made these from them, but for
            `constants`; None if these are not known.
        constants: parts that were added after that function.
    """

    blocks: Mapping[Sources, Block] = field(default_factory=dict)
    origin: "tuple[Parts, Callable[[Tensor], Tensor]] | None" = None
    constants: Mapping[Sources, Block] = field(default_factory=dict)

    @property
    def sources(self) -> Sources:
        """All sources, in the order in which they came to the stream."""
        return tuple(source for sources in self.blocks for source in sources)

    def sum(self) -> Tensor:
        """Return the sum of the parts."""
        sums = [block.sum for block in self.blocks.values()]
        return sum(sums[1:], start=sums[0])

    def of(self, sources: Sources) -> Tensor:
        """Return the parts of some sources in their order, `[source, ...]`; 0 for those that are not among them."""
        found: dict[Source, Tensor] = {}
        for names, block in self.blocks.items():
            for index, source in enumerate(names):
                if source in sources:
                    part = block.tensor[index]
                    found[source] = found[source] + part if source in found else part
        largest = max(found.values(), key=lambda part: part.numel())
        zero = largest.new_zeros(())
        return torch.stack([found.get(source, zero).expand_as(largest) for source in sources])

    def mapped(self, function: Callable[[Tensor], Tensor]) -> "Parts":
        """Return the parts after a linear function of blocks `[source, ...]`."""
        origin, before = self.origin or (self, None)
        composed = function if before is None else lambda block: function(before(block))
        blocks, constants = (
            {sources: Block(_later(function, block)) for sources, block in each.items()}
            for each in (self.blocks, self.constants)
        )
        return Parts(blocks, (origin, composed), constants)

    def with_constant(self, source: Source, make: Callable[[], Tensor]) -> "Parts":
        """Return these parts and a constant, `[1, ...]`."""
        constant = Parts({(source,): Block(make)})
        blocks, constants = (added(Parts(each), constant).blocks for each in (self.blocks, self.constants))
        return Parts(blocks, self.origin, constants)


def _later(function: Callable[[Tensor], Tensor], block: Block) -> Callable[[], Tensor]:
    return lambda: function(block.tensor)


def added(*terms: Parts) -> Parts:
    """Return the sum of several parts; blocks of the same sources are added."""
    together: dict[Sources, list[Block]] = {}
    for parts in terms:
        for sources, block in parts.blocks.items():
            together.setdefault(sources, []).append(block)
    return Parts({sources: _sum(blocks) for sources, blocks in together.items()})


def _sum(blocks: list[Block]) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    return Block(lambda: sum((block.tensor for block in blocks[1:]), start=blocks[0].tensor))


STEPS = "_headscope_steps"
"""Attribute of a tensor whose projections are noted: the list that they are added to."""


@dataclass(frozen=True, eq=False)
class Step:
    """A projection of what a layer reads, at which the graph of queries and keys is cut.

    Attributes:
        read: its input, `[1, 1, token, model]`.
        out: its output, to which the graph leads, `[1, 1, token, width]`.
        weight: its matrix, `[width, model]`.
    """

    read: Tensor
    out: Tensor
    weight: Tensor


def through_own_columns(values: Tensor, matrix: Tensor) -> Tensor:
    """Return `values @ matrix` for values `[many, ..., column]`, each of which is 0 outside columns of its own."""
    out = values.new_empty(*values.shape[:-1], matrix.shape[1])
    for value, product in zip(values, out, strict=True):
        columns = value.flatten(0, -2).any(0).nonzero()
        own = slice(int(columns[0]), int(columns[-1]) + 1) if len(columns) else slice(0, 0)
        torch.matmul(value[..., own], matrix[own], out=product)
    return out


def parts_of(tensor: Any) -> Parts | None:
    """Return the parts of a tensor; None if they are not known."""
    return getattr(tensor, "_headscope_parts", None)


def set_parts(tensor: Tensor, parts: Parts) -> Tensor:
    """Attach parts to a tensor."""
    tensor._headscope_parts = parts  # type: ignore[attr-defined]
    return tensor
