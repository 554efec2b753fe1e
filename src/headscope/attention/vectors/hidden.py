"""What a model knows of each word, layer by layer: its hidden states, the pieces of a word averaged."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headscope.encoding.batching import of_one_length
from headscope.encoding.segment import NO_WORD, Segment
from headscope.encoding.vocabulary import Vocabulary
from headscope.errors import ModelError
from headscope.models.anatomy import Anatomy
from headscope.models.eager_mode import eager_evaluation
from headscope.models.forward_inputs import model_inputs, no_cache
from headscope.models.placement import device_of


@dataclass(frozen=True, eq=False)
class WordStates:
    """One segment's words as a model sees them.

    Attributes:
        segment: where the words stand.
        vectors: `[layer, word, width]` float32; layer 0 is what the embeddings give, zeros for a word without pieces.
        known: False for a word without pieces, `[word]`.
    """

    segment: Segment
    vectors: NDArray[np.float32]
    known: NDArray[np.bool_]


def word_states(
    model: nn.Module, anatomy: Anatomy, vocabulary: Vocabulary, batches: Iterable[list[Segment]]
) -> Iterator[WordStates]:
    """Yield every segment's words in all layers; one batch is held at a time.

    Of a model with an encoder and a decoder the encoder's states are taken. Many models give the last layer's
    states after a final norm; they are taken as the model gives them.

    Args:
        model: a transformers model.
        anatomy: what `examine` found.
        vocabulary: of the tokenizer.
        batches: groups of segments to compute together, as `length_buckets` makes them.

    Raises:
        ModelError: the model gives no hidden states, or some that are NaN or infinite.
    """
    name = "encoder_hidden_states" if anatomy.encoder_decoder else "hidden_states"
    device = device_of(model)
    extra = no_cache(anatomy)
    with eager_evaluation(model):
        for segments in (part for batch in batches for part in of_one_length(batch, together=anatomy.together)):
            batch, inputs, _ = model_inputs(segments, anatomy, vocabulary)
            with torch.inference_mode():
                moved: dict[str, Any] = {key: tensor.to(device) for key, tensor in inputs.items()}
                states = model(**moved, **extra, output_hidden_states=True, return_dict=True).get(name)
                if not states:
                    raise ModelError(
                        f"{type(model).__name__} gives no hidden states: expected a transformers model with "
                        "output_hidden_states; choose another for the structural probe"
                    )
                owner = owners(batch.info.word_ids, words=max(map(words_of, segments))).to(device)
                count = owner.sum(-1)
                means = owner / count.clamp(min=1)[..., None]
                # A layer's padding rows may hold anything; a zero weight would make NaN of an infinite one.
                valid = batch.info.valid.to(device)[..., None]
                vectors = torch.stack([means @ layer.float().masked_fill(~valid, 0) for layer in states], dim=1).cpu()
                known = (count > 0).cpu().numpy()
            _check(vectors, segments)
            for item, segment in enumerate(segments):
                words = words_of(segment)
                yield WordStates(segment, vectors[item, :, :words].numpy(), known[item, :words])


def words_of(segment: Segment) -> int:
    """Return how many words a segment has, those without pieces too where the corpus names its words."""
    return len(segment.words) or int(segment.word_ids.max(initial=NO_WORD)) + 1


def owners(word_ids: Tensor, *, words: int) -> Tensor:
    """Return 1 where a token is a piece of a word, `[batch, word, position]` float32.

    Args:
        word_ids: index of each token's word, `NO_WORD` for special tokens and padding, `[batch, position]`.
        words: how many words the longest segment has.
    """
    return (torch.arange(words)[None, :, None] == word_ids[:, None]).float()


def _check(vectors: Tensor, segments: list[Segment]) -> None:
    if torch.isfinite(vectors.sum()):
        return
    bad = (~torch.isfinite(vectors)).nonzero()
    if len(bad):
        item, layer = int(bad[0, 0]), int(bad[0, 1])
        raise ModelError(
            f"layer {layer} gives hidden states that are NaN or infinite, in segment {segments[item].index + 1} of "
            f"document {segments[item].document}; the weights or the input overflow: try --dtype float32, and check "
            "the checkpoint"
        )
