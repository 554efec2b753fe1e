"""The attention weights that a model itself returns."""

from collections.abc import Iterator, Mapping
from typing import Any

from torch import Tensor, nn

from headscope.models.anatomy import Anatomy, CallSite
from headscope.models.forward_inputs import no_cache

_NAMES = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}


def fallback_weights(
    model: nn.Module, anatomy: Anatomy, inputs: Mapping[str, Tensor]
) -> Iterator[tuple[CallSite, Tensor]]:
    """Yield each layer's weights `[batch, head, query, key]` as `output_attentions=True` gives them.

    The model must be in eager evaluation.
    """
    out = model(**inputs, **no_cache(anatomy), output_attentions=True, return_dict=True)
    yield from weights_in(out, anatomy)


def weights_in(out: Mapping[str, Any], anatomy: Anatomy) -> Iterator[tuple[CallSite, Tensor]]:
    """Yield each layer's weights from the output of a model with `output_attentions=True`."""
    for part in anatomy.layout:
        layers = out[_NAMES[part.kind] if anatomy.encoder_decoder else "attentions"]
        for layer, index in enumerate(anatomy.map_layers[part.kind]):
            groups, sink = tuple(range(part.heads)), layer in part.sinks
            yield CallSite(part.kind, layer, groups, sink=sink), layers[index]
