"""The parts of tensors, followed through a model: what each source of its stream contributes to each of them.

The model runs unchanged. Every operation on a tensor whose parts are known gives the parts of its result, if it is
linear in that tensor: sums, linear maps, products with numbers that do not depend on the stream, changes of shape.
Norms are frozen at the scale that they had. Anything else (an activation, a product of two parts of the stream) has a
result without parts; where such a result is added to the stream, it is a source of its own: the output of an MLP.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten, tree_unflatten

from headscope.analyses.why.parts import (
    BIAS,
    OUTPUT_BIAS,
    STEPS,
    Block,
    Part,
    Parts,
    Source,
    Sources,
    Step,
    added,
    parts_of,
    set_parts,
    through_own_columns,
)


def _is_derived(tensor: Any) -> bool:
    """Return True if a tensor depends on the stream."""
    return parts_of(tensor) is not None or getattr(tensor, "_headscope_derived", False)


class Tracing(TorchFunctionMode):
    """Follow the parts of the stream through a model inside the `with` block.

    Args:
        model: a transformers model.

    Attributes:
        layer: kind and layer of the latest attention call, which names the MLP after it.
        kept: sources that are followed; None for all.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.layer: tuple[str, int] = ("", -1)
        self.kept: frozenset[Source] | None = None
        self._paused = False
        embeddings = {part.weight: name for name, part in model.named_modules() if isinstance(part, nn.Embedding)}
        self._embeddings: dict[int, Source] = {
            weight.data_ptr(): Source(_embedding(name)) for weight, name in embeddings.items()
        }

    def __enter__(self) -> Tracing:
        self.layer = ("", -1)
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Follow nothing inside the `with` block."""
        before, self._paused = self._paused, True
        try:
            yield
        finally:
            self._paused = before

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function of torch, and give its result parts."""
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if self._paused or not isinstance(result, Tensor | tuple | list):
            return result
        name = getattr(func, "__name__", "")
        if name in _COPY and args and result is args[0]:
            return result
        if name == "embedding" and isinstance(result, Tensor):
            return self._embedded(result, args, kwargs)
        leaves, _ = tree_flatten((args, kwargs))
        if not any(map(_is_derived, leaves)):
            return result
        parts = self._parts(name, func, args, kwargs, result) if any(map(parts_of, leaves)) else None
        outputs = result if isinstance(result, tuple | list) else (result,)
        for index, output in enumerate(outputs):
            if isinstance(output, Tensor):
                output._headscope_derived = True  # type: ignore[attr-defined]
                output._headscope_parts = parts[index] if parts else None  # type: ignore[attr-defined]
        return result

    def _embedded(self, result: Tensor, args: Any, kwargs: Any) -> Tensor:
        """Begin a source with the rows of an embedding."""
        weight = kwargs.get("weight", args[1] if len(args) > 1 else None)
        source = self._embeddings.get(weight.data_ptr(), Source("position"))
        return set_parts(result, self._begun(source, lambda: result[None]))

    def _begun(self, source: Source, make: Callable[[], Tensor]) -> Parts:
        """Return the parts of a new source; none if it is not followed."""
        return Parts({(source,): Block(make)}) if self.kept is None or source in self.kept else Parts()

    def _parts(self, name: str, func: Any, args: Any, kwargs: Any, result: Any) -> list[Parts] | None:
        """Return the parts of each output of a function; None if it is not linear in the stream."""
        with torch.no_grad():
            if name in _ADD:
                return self._added(name, args, kwargs, result)
            if name in _MULTIPLY:
                return _multiplied(args, inverse=name in _DIVIDE)
            if name == "linear":
                return _linear(*_named(args, kwargs, "input", "weight", "bias"))
            if name == "addmm":
                bias, read, weight = args[:3]
                return _linear(read, weight.T, bias)
            if name in ("matmul", "__matmul__", "bmm", "mm") and not _is_derived(args[1]):
                matrix = args[1]
                return [parts_of(args[0]).mapped(lambda block: block @ matrix)]  # type: ignore[union-attr]
            if name in ("layer_norm", "rms_norm"):
                return _normed(name, args, kwargs, result)
            if name in _SAME:
                return _linear_map(_SAME[name] or func, args, kwargs, result)
        return None

    def _added(self, name: str, args: Any, kwargs: Any, result: Tensor) -> list[Parts] | None:
        """Return the parts of a sum or difference; a term without parts is a source of its own."""
        if kwargs.get("alpha", 1) != 1:
            return None
        shape = result.shape
        signs = (1.0, 1.0) if name in _PLUS else (-1.0, 1.0) if name == "__rsub__" else (1.0, -1.0)
        terms = []
        for term, sign in zip(args[:2], signs, strict=True):
            parts = parts_of(term)
            if parts is None:
                if not isinstance(term, Tensor) and term == 0:
                    continue
                parts = self._source(term, result)
            if sign == 1 and isinstance(term, Tensor) and term.ndim == len(shape):
                terms.append(parts)  # so that what the stream carries is neither copied nor summed again
                continue
            terms.append(parts.mapped(lambda block, sign=sign: _as_wide(block, shape) * sign))  # type: ignore[misc]
        return [added(*terms)]

    def _source(self, term: Any, result: Tensor) -> Parts:
        """Return a term of a sum as a source of its own."""
        value = term if isinstance(term, Tensor) else torch.as_tensor(term, dtype=result.dtype, device=result.device)
        if isinstance(term, Tensor) and _is_derived(term):
            kind, layer = self.layer
            source = Source("mlp", kind, layer)
        elif self.layer[1] < 0 and value.ndim > 1:
            source = Source("position")  # added before the first layer: fixed positions
        else:
            source = BIAS
        return self._begun(source, lambda: value[None])


def _embedding(name: str) -> Part:
    """Return the kind of source that an embedding is, from the name of its module."""
    last = name.rsplit(".", 1)[-1]
    if "position" in last or last in ("wpe", "pos_embed"):
        return "position"
    return "segment" if "type" in last else "token"


def _as_wide(block: Tensor, shape: torch.Size) -> Tensor:
    """Insert axes after the first, so that a block broadcasts against tensors of a shape."""
    missing = len(shape) - (block.ndim - 1)
    return block.reshape(len(block), *(1,) * missing, *block.shape[1:]) if missing > 0 else block


def _named(args: Any, kwargs: Any, *names: str) -> list[Any]:
    return [args[index] if index < len(args) else kwargs.get(name) for index, name in enumerate(names)]


def _only_heads(sources: Iterable[Source]) -> bool:
    """Return True if all sources are heads of one layer: the tensor is on its way to the output projection."""
    layers = {(source.part, source.kind, source.layer) for source in sources}
    return len(layers) == 1 and next(iter(layers))[0] == "head"


def _linear(read: Tensor, weight: Tensor, bias: Tensor | None) -> list[Parts] | None:
    parts = parts_of(read)
    if parts is None or _is_derived(weight):
        return None
    from_heads = _only_heads(parts.sources)

    def projected(block: Tensor) -> Tensor:
        if from_heads:
            return through_own_columns(block, weight.T)
        out = functional.linear(block, weight)
        if (steps := getattr(block, STEPS, None)) is not None:
            out = out.detach().requires_grad_(True)
            steps.append(Step(read=block, out=out, weight=weight))
        return out

    return [_with_bias(parts.mapped(projected), OUTPUT_BIAS if from_heads else BIAS, bias, axes=read.ndim)]


def _with_bias(parts: Parts, constant: Source, bias: Tensor | None, *, axes: int) -> Parts:
    """Return the parts of a tensor with `axes` axes, and its bias as one more, if there is one."""
    return parts if bias is None else parts.with_constant(constant, lambda: bias.reshape(*(1,) * axes, -1))


def _multiplied(args: Any, *, inverse: bool) -> list[Parts] | None:
    """Return the parts of a product with numbers that do not depend on the stream, or with a norm's frozen scale."""
    first, second = args[:2]
    if inverse or parts_of(second) is None:
        scaled, factor = first, second
    else:
        scaled, factor = second, first
    parts = parts_of(scaled)
    if parts is None:
        return None
    if isinstance(factor, Tensor) and _is_derived(factor):
        one_a_token = parts_of(factor) is None and factor.shape[-1:] == (1,)
        if not one_a_token and not _only_heads(parts.sources):
            return None  # a gate, as in an MLP
    number = 1 / factor if inverse else factor
    if not isinstance(number, Tensor):
        return [parts.mapped(lambda block: block * number)]
    axes = max(number.ndim, scaled.ndim)
    return [parts.mapped(lambda block: _as_wide(block, torch.Size((1,) * axes)) * number)]


def _normed(name: str, args: Any, kwargs: Any, result: Tensor) -> list[Parts] | None:
    """Return the parts behind a norm whose scale is frozen."""
    read, shape, weight, bias, eps = _named(args, kwargs, "input", "normalized_shape", "weight", "bias", "eps")
    if name == "rms_norm":
        read, shape, weight, eps = _named(args, kwargs, "input", "normalized_shape", "weight", "eps")
        bias = None
    parts = parts_of(read)
    if parts is None or len(shape) != 1:
        return None
    exact, centered = read.double(), name == "layer_norm"
    spread = exact.var(-1, correction=0, keepdim=True) if centered else exact.square().mean(-1, keepdim=True)
    if eps is None:
        eps = 1e-5 if centered else torch.finfo(read.dtype).eps
    scale = (spread + eps).rsqrt().to(read.dtype)
    factor = scale if weight is None else scale * weight

    def normed(block: Tensor) -> Tensor:
        scaled: Tensor = block * factor
        if centered:  # in three passes over the parts instead of four
            scaled.addcmul_(block.mean(-1, keepdim=True), factor, value=-1)
        return scaled

    return [_with_bias(parts.mapped(normed), BIAS, bias, axes=read.ndim)]


def _linear_map(func: Any, args: Any, kwargs: Any, result: Any) -> list[Parts] | None:
    """Return the parts behind a linear function without constants, such as a change of shape; arguments may be several.

    Blocks that one argument lacks are 0 there.
    """
    leaves, spec = tree_flatten((args, kwargs))
    known = {index: parts for index, leaf in enumerate(leaves) if (parts := parts_of(leaf)) is not None}
    plain = [None if index in known else leaf for index, leaf in enumerate(leaves)]
    if len(known) > 1 and any(map(_is_derived, plain)):
        return None
    shapes = {index: leaves[index].shape for index in known}

    def call(*tensors: Tensor) -> Any:
        filled = dict(zip(known, tensors, strict=True))
        own_args, own_kwargs = tree_unflatten([filled.get(index, leaf) for index, leaf in enumerate(plain)], spec)
        return func(*own_args, **own_kwargs)

    def compute(sources: Sources) -> Any:
        zero = next(parts.blocks[sources] for parts in known.values() if sources in parts.blocks).tensor.new_zeros(())
        blocks = []
        for index, parts in known.items():
            block = parts.blocks.get(sources)
            tensor = zero.expand(len(sources)) if block is None else block.tensor
            blocks.append(_as_wide(tensor, shapes[index]).expand(-1, *shapes[index]))
        return torch.vmap(call)(*blocks)

    several = isinstance(result, tuple | list)
    outputs: list[dict[Sources, Block]] = [{} for _ in (result if several else (result,))]
    for sources in dict.fromkeys(sources for parts in known.values() for sources in parts.blocks):
        once = cache(partial(compute, sources))
        for number, output in enumerate(outputs):
            output[sources] = Block(lambda once=once, number=number: once()[number] if several else once())  # type: ignore[misc]
    return [Parts(output) for output in outputs]


_COPY = frozenset({"to", "float", "double", "half", "bfloat16", "type_as", "type", "contiguous", "cpu"})
"""Functions that return their argument itself if there is nothing to do."""
_PLUS = frozenset({"add", "__add__", "__radd__", "__iadd__", "add_"})
_ADD = _PLUS | {"sub", "__sub__", "__rsub__", "__isub__", "sub_", "subtract"}
_DIVIDE = frozenset({"div", "__truediv__", "__div__", "true_divide", "__itruediv__", "div_"})
_MULTIPLY = _DIVIDE | {"mul", "__mul__", "__rmul__", "__imul__", "mul_", "multiply"}
_SAME: Mapping[str, Any] = {
    **dict.fromkeys((
        "transpose", "permute", "contiguous", "chunk", "split", "unbind", "__getitem__", "cat", "neg", "__neg__",
        "unsqueeze", "squeeze", "flatten", "unflatten", "to", "float", "double", "half", "bfloat16", "type_as", "clone",
        "detach", "stack", "mean", "sum", "swapaxes", "movedim", "tensor_split", "split_with_sizes", "t", "narrow",
        "select", "repeat_interleave", "cpu", "expand", "type",
    )),
    "view": Tensor.reshape,
    "reshape": Tensor.reshape,
    "dropout": lambda read, *_, **__: read,
}  # fmt: skip
"""Functions that are linear without constants; those that fail on parts of other strides are replaced."""
