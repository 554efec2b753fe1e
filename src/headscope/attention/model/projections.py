"""The maps from the attention output of each head to the residual stream, found by a trial.

Modules are not found by name: one forward pass of a short input watches every module without submodules. The batch
holds copies of the input, and in each copy the output of one layer's attention is changed. The module that takes this
output, unchanged or times a gate, and is linear is the layer's output projection; a norm may come before it and after
it. The input of a later module changes by the change of the layer's addition to the stream, times a residual factor.
This shows which value is added, and that nothing else happens to it on the way.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headscope.attention.model.output_path import OutputPath, Projection
from headscope.attention.model.tap import AttentionCall, Tap
from headscope.encoding.vocabulary import Vocabulary
from headscope.models.anatomy import Anatomy
from headscope.models.forward_inputs import short_inputs
from headscope.models.identity import is_adapted
from headscope.models.temporary_changes import hooked


class StreamNorms:
    """Norms of the stream vectors that each layer of a model reads, in the current forward pass.

    A block is the innermost element of a list of modules around the attention module (`encoder.layer.3`). Its input is
    its first argument, one vector per token.

    Args:
        model: a transformers model.
    """

    def __init__(self, model: nn.Module) -> None:
        self._block: dict[nn.Module, nn.Module] = {}
        for part in model.modules():  # outer lists come before those inside
            if isinstance(part, nn.ModuleList):
                for element in part:
                    # The element itself is excluded: LongCat's list of two attention modules is not a list of blocks.
                    self._block.update({inner: element for inner in element.modules() if inner is not element})
        self._vectors: dict[nn.Module, tuple[Tensor, int]] = {}

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Watch the inputs of the blocks inside the `with` block."""
        blocks = dict.fromkeys(self._block.values())
        try:
            with hooked(block.register_forward_pre_hook(self._keep, with_kwargs=True) for block in blocks):
                yield
        finally:
            self._vectors.clear()

    def of(self, module: nn.Module) -> Float[Tensor, "batch row"] | None:
        """Return the norm of the latest input of an attention module's block at each row; None if it is not known."""
        return self._read(module)[0]

    def width(self, module: nn.Module) -> int:
        """Return the width of the latest input vectors of an attention module's block; 0 if it is not known."""
        return self._read(module)[1]

    def _read(self, module: nn.Module) -> tuple[Tensor | None, int]:
        block = self._block.get(module)
        return (None, 0) if block is None else self._vectors.get(block, (None, 0))

    def _keep(self, block: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        self._vectors.pop(block, None)
        numbers = (
            each for each in (*arguments, *named.values()) if isinstance(each, Tensor) and each.is_floating_point()
        )
        # Only the first tensor: if it is not one vector per token (Gemma 3n's stream is four), a later one is not the
        # stream.
        if (first := next(numbers, None)) is not None and first.ndim == 3:
            self._vectors[block] = torch.linalg.vector_norm(first.detach().float(), dim=-1), first.shape[-1]


@dataclass(frozen=True)
class Projections:
    """The projection of every layer.

    Attributes:
        layers: projections by kind and layer.
        missing: reason for a missing projection, by kind and layer.
    """

    layers: Mapping[tuple[str, int], Projection]
    missing: Mapping[tuple[str, int], str]

    @property
    def unknown_reason(self) -> str:
        """Reason why the contribution of each head to the stream is not known for some layer; empty if it is known."""
        for (_, layer), why in self.missing.items():
            return f"layer {layer + 1}: {why}"
        for (_, layer), projection in self.layers.items():
            before = projection.before
            if not projection.in_stream:
                return (
                    f"layer {layer + 1}: the output of its output projection is changed before it is added to the "
                    "residual stream"
                )
            if before is not None and (before.centered or bool(before.bias.any())):
                return f"layer {layer + 1}: a norm before its output projection mixes the outputs of its heads"
        return ""


def find_projections(model: nn.Module, anatomy: Anatomy, vocabulary: Vocabulary) -> Projections:
    """Run one short input and find the path of each layer's attention output to the stream.

    Args:
        model: a transformers model, on its device.
        anatomy: result of `examine`.
        vocabulary: vocabulary of the tokenizer.
    """
    sites = [(part.kind, layer) for part in anatomy.layout for layer in range(part.layers)]
    if anatomy.path == "fallback":
        why = f"{type(model).__name__} does not use transformers' attention interface"
        return Projections(layers={}, missing=dict.fromkeys(sites, why))
    number = 1 + len(sites)
    watch = _Watch(anatomy, StreamNorms(model), number=number)
    units = list(_units(model))
    before = hooked(part.register_forward_pre_hook(watch.before, with_kwargs=True) for part in units)
    after = hooked(part.register_forward_hook(watch.after, with_kwargs=True) for part in units)
    with before, after, Tap(model, watch.listen), watch.streams.listening(), torch.inference_mode():
        model(**short_inputs(model, anatomy, vocabulary, copies=number))
    layers, missing = {}, {}
    for site in sites:
        path = watch.paths.get(site)
        if path is None or path.module is None:
            missing[site] = "no linear map takes the attention's output"
        elif path.others:
            missing[site] = f"{1 + path.others} linear maps take the attention's output"
        else:
            layers[site] = path.projection()
    return Projections(layers=MappingProxyType(layers), missing=MappingProxyType(missing))


class _Watch:
    """Watch the inputs and outputs of the model's modules, for each layer whose path is not yet known.

    Args:
        anatomy: result of `examine`.
        streams: norms of the model's stream.
        number: number of copies in the batch: an unchanged one, and one per layer.
    """

    def __init__(self, anatomy: Anatomy, streams: StreamNorms, *, number: int) -> None:
        self.streams = streams
        self.number = number
        self.calls = anatomy.calls
        self.paths: dict[tuple[str, int], OutputPath] = {}
        self.copies: dict[tuple[str, int], Tensor] = {}  # indices in the batch: the unchanged copy, and the layer's
        self.generator = torch.Generator().manual_seed(0)

    def listen(self, call: AttentionCall) -> Tensor:
        """Return eager attention's output, with noise added in the layer's own copy of the input."""
        site = self.calls[call.order]
        output = call.eager()[0].contiguous()
        if site is not None:
            site_key, copy = (site.kind, site.layer), 1 + len(self.paths)
            noise = torch.randn(output.shape[1:], generator=self.generator).to(output)
            output[copy] += output[0].float().square().mean().sqrt() * noise
            self.copies[site_key] = torch.tensor([0, copy], device=output.device)
            self.paths[site_key] = OutputPath(output[self.copies[site_key]], width=self.streams.width(call.module))
        return output

    def _open(self) -> list[tuple[OutputPath, Tensor]]:
        return [(path, self.copies[site_key]) for site_key, path in self.paths.items() if path.added is None]

    def before(self, part: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Watch the input of a module."""
        first = _first(*arguments, *named.values())
        for path, copies in self._open():
            if first is not None and (copied := self._own(first, copies)) is not None:
                path.reads(copied)

    def after(self, part: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any], answer: Any) -> None:
        """Watch the output of a module."""
        first = _first(*arguments, *named.values())
        if first is None or not isinstance(answer, Tensor):
            return
        for path, copies in self._open():
            read, produced = self._own(first, copies), self._own(answer, copies)
            if read is not None and produced is not None:
                path.passes(part, read, produced)

    def _own(self, tensor: Tensor, copies: Tensor) -> Tensor | None:
        """Return the two copies of a layer; None for a tensor without numbers for each copy."""
        if not tensor.is_floating_point() or tensor.ndim < 2 or tensor.shape[0] % self.number:
            return None
        by_copy = tensor if tensor.shape[0] == self.number else tensor.reshape(self.number, -1, *tensor.shape[1:])
        return by_copy[copies]


def _units(part: nn.Module) -> Iterator[nn.Module]:
    """Yield the modules of a model without submodules; a layer with adapters counts as one of them."""
    children = [] if is_adapted(part) else list(part.children())
    if not children:
        yield part
    for child in children:
        yield from _units(child)


def _first(*arguments: Any) -> Tensor | None:
    return next((each for each in arguments if isinstance(each, Tensor)), None)
