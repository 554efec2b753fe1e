"""The mean input of each layer's output projection over a text: the mean output of its heads before the projection."""

from collections.abc import Iterable
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headscope.attention.model.projections import Projections
from headscope.encoding.segment import Segment
from headscope.encoding.vocabulary import Vocabulary
from headscope.models.anatomy import Anatomy
from headscope.models.forward_inputs import model_inputs, no_cache
from headscope.models.hooks import hooked
from headscope.models.placement import device_of


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
