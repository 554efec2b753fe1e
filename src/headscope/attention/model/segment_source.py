"""A model run over segments: the common arguments of every source that runs a model, and a check of left padding."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Set
from dataclasses import KW_ONLY, dataclass

import torch
from torch import Tensor, nn

from headscope.attention.model.model_pass import ModelPass, TileConsumer
from headscope.encoding.segment import Segment
from headscope.encoding.vocabulary import Vocabulary
from headscope.errors import ModelError
from headscope.models.anatomy import Anatomy
from headscope.models.forward_inputs import made_up_segment, model_inputs, no_cache, weights_in
from headscope.models.placement import device_of
from headscope.models.temporary_changes import eager_evaluation

_LENGTHS = (11, 5)
_TOLERANCE = 1e-4  # for a weight, and relative to the largest final state; another batch shape changes them by 1e-5
_HALF_TOLERANCE = 0.02


def check_padding(model: nn.Module, anatomy: Anatomy, vocabulary: Vocabulary, padding_side: str) -> None:
    """Refuse left padding of a model whose numbers it changes.

    Raises:
        ModelError: left padding was chosen, and it changes the model's numbers.
    """
    if padding_side == "left" and not left_padding_works(model, anatomy, vocabulary):
        raise ModelError(
            f"{type(model).__name__} reads an input otherwise when it is padded on the left; pad on the right"
        )


def left_padding_works(model: nn.Module, anatomy: Anatomy, vocabulary: Vocabulary) -> bool:
    """Return True if weights and final states of inputs padded on the left equal those of each input alone.

    Args:
        model: a transformers model.
        anatomy: result of `examine`.
        vocabulary: vocabulary of the tokenizer.
    """
    size, generator = min(len(vocabulary.classes), 1 << 16), torch.Generator().manual_seed(0)
    segments = [made_up_segment(n, vocabulary, size=size, generator=generator) for n in _LENGTHS]
    alone = [_values(model, anatomy, vocabulary, [segment], side="right")[0] for segment in segments]
    # Single inputs, too, are run with position ids for left padding, and the model may count otherwise (Nystromformer).
    batches = [segments] if anatomy.together == "padded" else [[segment] for segment in segments]
    try:
        padded = [values for batch in batches for values in _values(model, anatomy, vocabulary, batch, side="left")]
    except Exception:  # the model's own code may raise anything
        return False
    return all(all(map(_same, *both)) for both in zip(padded, alone, strict=True))


def _values(
    model: nn.Module, anatomy: Anatomy, vocabulary: Vocabulary, segments: list[Segment], *, side: str
) -> list[list[Tensor]]:
    """Return each input's weights of every layer, `[head, query, key]`, and final states, without padding."""
    batch, inputs, decoder = model_inputs(segments, anatomy, vocabulary, padding_side=side)
    device = device_of(model)
    moved = {name: tensor.to(device) for name, tensor in inputs.items()}
    with eager_evaluation(model), torch.inference_mode():
        out = model(**moved, **no_cache(anatomy), output_attentions=True, return_dict=True)
    encoder, last = batch.info.valid.to(device), (decoder or batch).info.valid.to(device)
    by_item: list[list[Tensor]] = [[] for _ in segments]
    for site, weights in weights_in(out, anatomy):
        queries = encoder if site.kind == "encoder" else last
        keys = last if site.kind == "decoder" else encoder
        for item, values in enumerate(by_item):
            values.append(weights[item][:, queries[item]][..., keys[item]])
    states = out[0]  # final states, or a head's scores for each token
    if isinstance(states, Tensor) and states.shape[:2] == last.shape:
        for item, values in enumerate(by_item):
            values.append(states[item][last[item]])
    return by_item


def _same(padded: Tensor, alone: Tensor) -> bool:
    exact = alone.dtype in (torch.float32, torch.float64)
    most = (_TOLERANCE if exact else _HALF_TOLERANCE) * float(alone.abs().max().clamp(min=1.0))
    return float((padded - alone).abs().max()) <= most  # False if there are NaNs


@dataclass(eq=False, repr=False)
class SegmentSource(ABC):
    """A source of tiles that runs a model.

    Args:
        model: a transformers model.
        anatomy: result of `examine` for this model.
        vocabulary: vocabulary of the tokenizer, for the classes of tokens. Classes are those of the tokens that the
            model reads, so that a masked period does not count as a period.
        batches: groups of segments to compute together.
        padding_side: side on which short segments are padded, `right` or `left`.

    Attributes:
        layout: the kinds of attention and their sizes.

    Raises:
        ModelError: left padding was requested, and it changes the model's numbers.
    """

    model: nn.Module
    anatomy: Anatomy
    vocabulary: Vocabulary
    batches: Iterable[list[Segment]]
    _: KW_ONLY
    padding_side: str = "right"

    def __post_init__(self) -> None:
        check_padding(self.model, self.anatomy, self.vocabulary, self.padding_side)
        self.layout = self.anatomy.layout

    @abstractmethod
    def run(self, consumer: TileConsumer, needs: Set[str]) -> None:
        """Compute the batches one by one; see `TileSource`."""

    def begun(self, consumer: TileConsumer) -> ModelPass:
        """Return a pass of the model that feeds tiles to a consumer."""
        return ModelPass(self.model, self.anatomy, self.vocabulary, consumer, padding_side=self.padding_side)
