"""Heads removed from a model's weights: their rows of the output projection become zero, so that they write nothing.

Their mean output can be added to the projection's bias instead.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from headscope.attention.head_id import HeadId, check_head
from headscope.attention.model.output_path import Projection
from headscope.attention.model.projections import Projections
from headscope.encoding.segment import Segment
from headscope.encoding.vocabulary import Vocabulary
from headscope.errors import ModelError
from headscope.models.anatomy import Anatomy, KindLayout
from headscope.models.forward_inputs import model_inputs, no_cache
from headscope.models.placement import device_of
from headscope.models.temporary_changes import hooked

Inputs = Mapping[tuple[str, int], Float[Tensor, "head width"]]
"""The mean input of each layer's output projection, by kind and layer."""


def projection_means(
    model: nn.Module, anatomy: Anatomy, vocabulary: Vocabulary, projections: Projections, segments: Iterable[Segment]
) -> dict[tuple[str, int], Float[Tensor, "head width"]]:
    """Return the mean over all tokens of a text, by kind and layer.

    A gate or a norm before the projection is included. Inputs are run one at a time, without padding.

    Args:
        model: a transformers model.
        anatomy: result of `examine`.
        vocabulary: vocabulary of the tokenizer.
        projections: result of `find_projections`.
        segments: segments of the text.
    """
    sums: dict[tuple[str, int], Tensor] = {}
    numbers: dict[tuple[str, int], int] = {}

    def keep(site: tuple[str, int], _: nn.Module, arguments: tuple[Any, ...]) -> None:
        rows = arguments[0].flatten(0, -2).double()
        sums[site] = sums.get(site, 0) + rows.sum(0)
        numbers[site] = numbers.get(site, 0) + len(rows)

    hooks = (
        projection.module.register_forward_pre_hook(partial(keep, site))
        for site, projection in projections.layers.items()
    )
    device = device_of(model)
    with hooked(hooks), torch.inference_mode():
        for segment in segments:
            _, inputs, _ = model_inputs([segment], anatomy, vocabulary)
            model(**{name: tensor.to(device) for name, tensor in inputs.items()}, **no_cache(anatomy))
    return {site: (sums[site] / numbers[site]).reshape(projections.layers[site].factor.shape[:2]) for site in sums}


def remove_heads(
    projections: Projections, layout: Sequence[KindLayout], heads: Iterable[HeadId], *, means: Inputs | None = None
) -> None:
    """Set the rows of the output projection that belong to some heads to zero, in place.

    The projection's input from these heads is multiplied by zero from then on: the model computes the same as if
    their slices of the projection's input were zero (Michel et al. 2019, a mask of 0). A bias of the projection stays,
    since all heads of the layer share it.

    Args:
        projections: output projection of every layer, from `find_projections`.
        layout: the model's heads.
        heads: heads to remove.
        means: mean inputs of the projections: the mean outputs of the heads are added to the projection's bias.

    Raises:
        OptionError: the model has no such head.
        ModelError: a layer's projection was not found, has no plain weights, or is shared with other layers; or it has
            no bias for a mean. Nothing was changed.
    """
    by_site: dict[tuple[str, int], set[int]] = defaultdict(set)
    for head in heads:
        check_head(head, layout)
        layer, number = head.position
        by_site[head.kind, layer].add(number)
    rows = {site: _head_rows(projections, site) for site in by_site}
    _check_sharing(projections.layers, by_site)
    biases = {} if means is None else {site: _bias(projections, site) for site in by_site}
    with torch.no_grad():
        for site, numbers in by_site.items():
            removed = sorted(numbers)
            if means is not None:
                written = torch.einsum("hw,hwm->m", means[site][removed].double(), rows[site][removed].double())
                biases[site] += written.to(biases[site].dtype)
            rows[site][removed] = 0


def _head_rows(projections: Projections, site: tuple[str, int]) -> Tensor:
    """Return a view of the projection's weights, `[head, width, model]`."""
    kind, layer = site
    if site not in projections.layers:
        raise ModelError(
            f"{kind} layer {layer + 1}: {projections.missing[site]}; its heads cannot be removed from the weights"
        )
    projection = projections.layers[site]
    heads, width = projection.factor.shape[:2]
    rows = _input_rows(projection, site)
    return rows.view(heads, width, rows.shape[1])


def _bias(projections: Projections, site: tuple[str, int]) -> Tensor:
    """Return the bias of a layer's projection, which no other layer may share."""
    module = projections.layers[site].module
    where = f"{site[0]} layer {site[1] + 1}"
    if not isinstance(module.bias, Tensor):
        raise ModelError(
            f"{where}: its output projection has no bias, which would take the mean of what removed heads write; "
            "choose --intervention zero"
        )
    if sum(each.module is module for each in projections.layers.values()) > 1:
        raise ModelError(
            f"{where}: its output projection serves other layers too, whose heads write other means; choose "
            "--intervention zero"
        )
    return module.bias


def _input_rows(projection: Projection, site: tuple[str, int]) -> Tensor:
    """Return a view of the weights with one row for each input of the projection."""
    module = projection.module
    # Quantized and adapted layers are other classes: their `weight` alone is not the matrix that they multiply by.
    if type(module) is nn.Linear:
        return module.weight.T
    if type(module) is Conv1D:
        return module.weight
    raise ModelError(
        f"{site[0]} layer {site[1] + 1}: its output projection is of class {type(module).__name__}, whose weights "
        "cannot be set to zero by row; merge adapters and load the model unquantized first"
    )


def _check_sharing(layers: Mapping[tuple[str, int], Projection], by_site: Mapping[tuple[str, int], set[int]]) -> None:
    """Refuse to remove a head in one layer if other layers use the same weights (ALBERT)."""
    removed: dict[int, set[int]] = {}
    for site, projection in layers.items():
        numbers = by_site.get(site, set())
        if removed.setdefault(id(projection.module), numbers) != numbers:
            raise ModelError(
                "layers of this model share one output projection; expected the same heads to be removed in each of "
                "them (1-3, 2-3, 3-3, ...)"
            )
