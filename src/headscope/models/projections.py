"""Where a head's output goes: the linear map that takes the attention's output, found by looking.

No list of names: one small forward pass, in which every part without parts of its own is watched. The one whose input
is, number for number, what the attention of a layer gave is that layer's output projection; its matrix is read off by
giving it the unit vectors. A model that changes the output first (a gate, a norm) has none that can be named.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headscope.attention.tap import AttentionCall, Tap
from headscope.encoding.segment import Segment
from headscope.encoding.vocabulary import Vocabulary
from headscope.models.anatomy import Anatomy, CallSite
from headscope.models.forward_inputs import model_inputs, no_cache

_TOKENS = 6
_TOLERANCE = 1e-3  # of the map's own output; in half precision as many roundings as follow
_ROUNDINGS = 4
_LARGE = 256.0  # a bias beside that many times the matrix hides little of it, and float16 holds both


@dataclass(frozen=True)
class Projections:
    """How long what each head writes is.

    Attributes:
        factors: by kind and layer, `[head, value width, rank]` float32: `|x W_O|` is the length of `x @ factor` for
            a value `x` of the head, where `W_O` are its rows of the output projection.
        missing: why there is none, by kind and layer.
    """

    factors: Mapping[tuple[str, int], Float[Tensor, "head width rank"]]
    missing: Mapping[tuple[str, int], str]


def find_projections(model: nn.Module, anatomy: Anatomy, vocabulary: Vocabulary) -> Projections:
    """Run one short input and see where the output of each layer's attention goes.

    Args:
        model: a transformers model, on its device.
        anatomy: what `examine` found.
        vocabulary: of the tokeniser.
    """
    sites = [CallSite(part.kind, layer, ()) for part in anatomy.layout for layer in range(part.layers)]
    if anatomy.path == "fallback":
        why = f"{type(model).__name__} does not ask transformers' attention interface"
        return Projections(factors={}, missing={(site.kind, site.layer): why for site in sites})
    watch = _Watch(anatomy)
    hooks = [
        part.register_forward_pre_hook(watch.into, with_kwargs=True)
        for part in model.modules()
        if next(part.children(), None) is None
    ]
    try:
        with Tap(model, watch.listen), torch.inference_mode():
            model(**_short_input(model, anatomy, vocabulary), **no_cache(anatomy))
    finally:
        for hook in hooks:
            hook.remove()
    factors, missing = {}, {}
    for site in sites:
        place = (site.kind, site.layer)
        takers = watch.takers.get(place, {})
        matrices = [_matrix(part, given) for part, given in takers.items()]
        linear = [matrix for matrix in matrices if matrix is not None]
        if len(linear) != 1:
            missing[place] = (
                f"{len(linear)} linear maps take the attention's output"
                if linear
                else "no linear map takes the attention's output as it is"
            )
            continue
        factors[place] = _factor(linear[0], watch.heads[place])
    return Projections(factors=MappingProxyType(factors), missing=MappingProxyType(missing))


class _Watch:
    """What each layer's attention gave, and which parts of the model were given just that."""

    def __init__(self, anatomy: Anatomy) -> None:
        self.calls = anatomy.calls
        self.heads: dict[tuple[str, int], int] = {}
        self.takers: dict[tuple[str, int], dict[nn.Module, Tensor]] = {}
        self.last: tuple[tuple[str, int], Tensor] | None = None

    def listen(self, call: AttentionCall) -> Tensor:
        """Answer as eager attention does, and keep the answer."""
        site = self.calls[call.order]
        output, _ = call.eager()
        if site is None:  # no layer's of the layout
            self.last = None
            return output
        place = (site.kind, site.layer)
        self.heads[place] = output.shape[2]
        self.last = (place, output.flatten().clone())
        return output

    def into(self, part: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Look at what goes into a part: is it what the last layer's attention gave?"""
        first = next((each for each in (*given, *named.values()) if isinstance(each, Tensor)), None)
        if self.last is None or first is None:
            return
        place, output = self.last
        if first.numel() == output.numel() and torch.equal(first.flatten(), output):
            self.takers.setdefault(place, {})[part] = first.detach().reshape(-1, first.shape[-1])


def _matrix(part: nn.Module, given: Float[Tensor, "row inner"]) -> Float[Tensor, "inner model"] | None:
    """Return the matrix of a part that is linear (with a bias or without); None where it is not, or changes nothing."""
    with torch.inference_mode():
        width = given.shape[1]
        try:
            bias = part(given.new_zeros(1, width))
            units = torch.eye(width, dtype=given.dtype, device=given.device)
            matrix: Tensor = (part(_LARGE * units) - bias) / _LARGE
            answer = part(given)
        except Exception:  # whatever else a part may want of its input, it is no plain map then
            return None
        if not isinstance(answer, Tensor) or matrix.ndim != 2:
            return None
        off = (given.double() @ matrix.double() + bias.double() - answer.double()).abs().max()
        # Dropout gives back what it got: the map comes after it.
        most = max(_TOLERANCE, _ROUNDINGS * torch.finfo(answer.dtype).eps)
        if torch.equal(answer, given) or off > most * answer.double().abs().max().clamp(min=1e-9):
            return None
        return matrix


def _factor(matrix: Float[Tensor, "inner model"], heads: int) -> Float[Tensor, "head width rank"]:
    """Return `R'` of each head's `W_O' = Q R`: `x W_O` is as long as `x R'`, which is never longer than x is wide."""
    by_head = matrix.detach().double().cpu().reshape(heads, -1, matrix.shape[1])
    upper = torch.linalg.qr(by_head.transpose(1, 2), mode="r").R
    factor: Tensor = upper.transpose(1, 2).float().to(matrix.device).contiguous()
    return factor


def _short_input(model: nn.Module, anatomy: Anatomy, vocabulary: Vocabulary) -> dict[str, Tensor]:
    """Return the model's arguments for one made-up input of a few tokens, all different."""
    size = min(len(vocabulary.classes), 1 << 16)
    ids = torch.linspace(1, max(1, size - 1), _TOKENS).long()
    zeros = torch.zeros_like(ids).numpy()
    segment = Segment(document="probe", index=0, ids=ids.numpy(), token_types=zeros, word_ids=zeros)
    _, inputs, _ = model_inputs([segment], anatomy, vocabulary)
    device = next(model.parameters()).device
    return {name: tensor.to(device) for name, tensor in inputs.items()}
