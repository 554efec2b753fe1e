"""Passes that begin at a block of a model: its blocks, found by inspection, and the outputs of earlier blocks."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor, nn

from headscope.attention.model.tap import AttentionCall, Tap
from headscope.encoding.vocabulary import Vocabulary
from headscope.models.anatomy import Anatomy
from headscope.models.forward_inputs import short_inputs

Layer = tuple[str, int]
"""A kind of attention, and a layer of this kind, from 0."""


def without_graph(returned: Any) -> Any:
    """Return the same numbers without a gradient graph; values without tensors are returned unchanged.

    Args:
        returned: a tensor, or several in a tuple, a list or an output of transformers.
    """
    if isinstance(returned, Tensor):
        return returned.detach() if returned.requires_grad else returned
    if type(returned) in (tuple, list):
        return type(returned)(without_graph(each) for each in returned)
    if isinstance(returned, Mapping):
        return type(returned)(**{name: without_graph(each) for name, each in returned.items()})
    return returned


class BlockReplay:
    """The outputs of each block of a model in one pass, for later passes of the same inputs.

    Args:
        modules: the blocks, each once.

    Attributes:
        block: number of the block call in progress, from 0; None outside of blocks.
    """

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        self.modules = modules
        self.block: int | None = None
        self._first: int | None = None
        self._next = 0
        self._returned: list[Any] = []

    @property
    def number(self) -> int:
        """Number of block calls in the recorded pass."""
        return len(self._returned)

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Replace the blocks' forward methods inside the `with` block."""
        before = {module: module.__dict__.get("forward") for module in self.modules}
        for module in self.modules:
            module.forward = partial(self._call, module.forward)
        try:
            yield
        finally:
            for module, forward in before.items():
                if forward is None:
                    del module.forward
                else:
                    module.forward = forward
            self._returned = []

    def record(self) -> None:
        """Record the outputs of the blocks in the next pass, which computes all blocks."""
        self._first, self._next, self._returned = None, 0, []

    def replay(self, first: int) -> None:
        """Compute the blocks from `first` on in the next pass; earlier blocks return their recorded outputs."""
        self._first, self._next = first, 0

    def _call(self, forward: Any, *arguments: Any, **named: Any) -> Any:
        if self.block is not None:  # a block inside another block belongs to it
            return forward(*arguments, **named)
        number, self._next = self._next, self._next + 1
        if self._first is not None and number < self._first:
            return self._returned[number]
        self.block = number
        try:
            returned = forward(*arguments, **named)
        finally:
            self.block = None
        if self._first is None:
            self._returned.append(without_graph(returned))
        return returned


@dataclass(frozen=True, eq=False)
class BlockPlan:
    """The blocks of a model.

    Attributes:
        modules: the blocks, each once; empty if every pass is a whole one.
        number: number of calls of blocks in a pass, at least 1.
        first: call of a block in which each layer's attention is computed.
        calls: for each call of the attention function in a pass, the call of a block that it is part of; None for one
            outside of blocks.
        missing: reason why passes are whole ones; empty if they are not.
    """

    modules: tuple[nn.Module, ...] = field(repr=False)
    number: int
    first: Mapping[Layer, int]
    calls: tuple[int | None, ...] = field(repr=False)
    missing: str = ""

    def passes(self, layer: Layer) -> float:
        """Return the fraction of a pass, above 0 to 1, that computes the model from a layer's block on."""
        return (self.number - self.first[layer]) / self.number

    def calls_from(self, first: int) -> list[int]:
        """Return the calls of the attention function, from 0, in a pass that begins at a block."""
        return [order for order, block in enumerate(self.calls) if block is None or block >= first]

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """The layers, in the order in which the model computes them."""
        return tuple(sorted(self.first, key=lambda layer: self.first[layer]))


def find_blocks(model: nn.Module, anatomy: Anatomy, vocabulary: Vocabulary) -> BlockPlan:
    """Find the blocks, and check that the model gives exactly the same numbers when a pass starts at each of them.

    Blocks are the elements of the outermost lists of modules that hold attention (`encoder.layer`).

    Args:
        model: a transformers model that passes its attention to the interface.
        anatomy: result of `examine`.
        vocabulary: vocabulary of the tokenizer.
    """
    inputs = short_inputs(model, anatomy, vocabulary)
    expected, calls = _run(model, inputs, BlockReplay(()))
    modules = _blocks(model, [module for module, _ in calls])
    replay = BlockReplay(modules)
    with replay.installed():
        replay.record()
        again, calls = _run(model, inputs, replay)
        blocks, number = tuple(block for _, block in calls), replay.number
        # Each block is replayed twice: if a block modifies its input, the second result differs.
        answers = [again, *(_replayed(model, inputs, replay, first) for first in [*range(number), *range(number)])]
    sites = {
        (site.kind, site.layer): block for site, block in zip(anatomy.calls, blocks, strict=True) if site is not None
    }
    first = {layer: block for layer, block in sites.items() if block is not None}
    if len(first) < len(sites):
        missing = "no list of blocks contains its attention"
    elif not all(answer is not None and torch.equal(answer, expected) for answer in answers):
        missing = "its blocks do more than return what the next one is given"
    else:
        return BlockPlan(modules=tuple(modules), number=number, first=first, calls=blocks)
    return BlockPlan(modules=(), number=1, first=dict.fromkeys(sites, 0), calls=(None,) * len(blocks), missing=missing)


def _run(
    model: nn.Module, inputs: Mapping[str, Tensor], replay: BlockReplay
) -> tuple[Tensor, list[tuple[nn.Module, int | None]]]:
    """Return the first output of a model, and the module and the block call of each call of the attention function."""
    calls = []

    def listen(call: AttentionCall) -> Tensor:
        calls.append((call.module, replay.block))
        return call.eager()[0]

    with Tap(model, listen), torch.inference_mode():
        answer: Any = model(**inputs)
    first: Tensor = answer[0]
    return first.clone(), calls


def _replayed(model: nn.Module, inputs: Mapping[str, Tensor], replay: BlockReplay, first: int) -> Tensor | None:
    """Return the first output of a pass that begins at a block; None if the model cannot be run this way."""
    replay.replay(first)
    try:
        return _run(model, inputs, replay)[0]
    except Exception:  # the model's own code may raise anything
        return None


def _blocks(model: nn.Module, attending: Sequence[nn.Module]) -> list[nn.Module]:
    """Return the elements of the outermost lists that hold attention modules, each once."""
    inside = set(attending)
    blocks: dict[nn.Module, None] = {}
    covered: set[nn.Module] = set()
    for part in model.modules():  # outer lists come before those inside
        if not isinstance(part, nn.ModuleList) or part in covered:
            continue
        covered.update(part.modules())
        # A list of only attention modules is not a list of blocks: it lacks the rest of the layer.
        within = (module for element in part for module in element.modules() if module is not element)
        if not inside.isdisjoint(within):
            blocks.update(dict.fromkeys(part))
    return list(blocks)
