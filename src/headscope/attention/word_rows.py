"""The rows of a tile that belong to a few words, and the hidden states of each word."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headscope.attention.tile import AttentionTile
from headscope.attention.word_attention import WordAxis, axis_of, between_words, word_axis
from headscope.encoding.batching import of_one_length
from headscope.encoding.segment import NO_WORD, Segment, sent
from headscope.encoding.vocabulary import Vocabulary
from headscope.errors import ModelError
from headscope.models.anatomy import Anatomy
from headscope.models.forward_inputs import model_inputs, no_cache
from headscope.models.placement import device_of
from headscope.models.temporary_changes import eager_evaluation


@dataclass(frozen=True, eq=False)
class WordRows:
    """The rows of a tile that belong to some words; made once per batch, used for every layer.

    Attributes:
        rows: numbers of the tile's rows, 0 for padding, `[batch, row]`.
        queries: words of these rows, in the order of the text.
        keys: the attended words.
    """

    rows: Tensor
    queries: WordAxis
    keys: WordAxis

    @classmethod
    def of(cls, tile: AttentionTile, wanted: Tensor) -> "WordRows":
        """Find the rows of the `wanted` words, `[batch, word]`, on the host, which has a copy of the tokens."""
        queries, device = tile.queries.on_host, tile.queries.word_ids.device
        word_ids, row_valid = queries.word_ids[:, tile.rows], queries.valid[:, tile.rows]
        known = row_valid & (word_ids != NO_WORD) & (word_ids < wanted.shape[1])
        chosen = known & wanted.gather(1, word_ids.clamp(0, wanted.shape[1] - 1))
        counts = chosen.sum(1)
        # The sort is stable, so that the chosen rows come first and in order.
        order = (~chosen).long().argsort(dim=1, stable=True)[:, : int(counts.numpy().max(initial=0))]
        valid = torch.arange(order.shape[1]) < counts[:, None]
        ids = word_ids.gather(1, order).masked_fill(~valid, NO_WORD)
        return cls(
            rows=sent(order.masked_fill(~valid, 0), device),
            queries=word_axis(ids, valid).to(device),
            keys=axis_of(tile.keys),
        )

    def attention(self, tile: AttentionTile, *, pooling: str) -> Tensor:
        """Return attention from the words to all words, `[batch, head, query position, key position]`."""
        items = torch.arange(len(self.rows), device=self.rows.device)[:, None]
        taken = tile.weights[items, :, self.rows].permute(0, 2, 1, 3)
        return between_words(taken, self.queries, self.keys, pooling=pooling)


def places_of_words(axis: WordAxis, words: int) -> Tensor:
    """Return the position of each of the first `words` words on an axis, -1 for a missing word, `[batch, word]`."""
    known = axis.valid & (axis.words != NO_WORD) & (axis.words < words)
    places = axis.words.new_full((len(axis.words), words + 1), -1)
    at = torch.arange(axis.words.shape[1], device=axis.words.device).expand_as(axis.words)
    return places.scatter(1, torch.where(known, axis.words, words), at)[:, :words]


def on_places(marks: Tensor, items: Tensor, axis: WordAxis) -> Tensor:
    """Turn marks on words, `[mark, word]`, into marks on the positions of an axis, `[mark, position]`.

    Args:
        marks: marks of all segments of a batch, segment by segment.
        items: segment of each mark, ascending, `[mark]`.
        axis: axis of the batch, on the host as the other arguments.
    """
    number = marks.shape[1]
    known = axis.valid & (axis.words != NO_WORD) & (axis.words < number)
    index = axis.words.clamp(0, number - 1)
    counts = np.bincount(items.numpy(), minlength=len(index)).tolist()
    # One segment at a time: an index for every mark and position would take eight times the memory of the marks.
    parts = [
        marks_of_segment[:, index[item]] & known[item]
        for item, marks_of_segment in enumerate(torch.split(marks, counts))
    ]
    return torch.cat(parts)


@dataclass(frozen=True, eq=False)
class WordStates:
    """The hidden states of one segment's words.

    Attributes:
        segment: segment of the words.
        vectors: `[layer, word, width]` float32; layer 0 holds the embeddings; zeros for a word without pieces.
        known: False for a word without pieces, `[word]`.
    """

    segment: Segment
    vectors: NDArray[np.float32]
    known: NDArray[np.bool_]


def word_states(
    model: nn.Module, anatomy: Anatomy, vocabulary: Vocabulary, batches: Iterable[list[Segment]]
) -> Iterator[WordStates]:
    """Yield the hidden states of every segment's words in all layers, with one batch at a time in memory.

    For an encoder-decoder the encoder's states are used. Many models return the last layer's states after a final
    norm; they are used as the model returns them.

    Args:
        model: a transformers model.
        anatomy: result of `examine`.
        vocabulary: vocabulary of the tokenizer.
        batches: groups of segments to compute together, as `length_buckets` makes them.

    Raises:
        ModelError: the model returns no hidden states, or some that are NaN or infinite.
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
                # Padding rows of a layer may hold anything, and a zero weight times an infinite value is NaN.
                valid = batch.info.valid.to(device)[..., None]
                vectors = torch.stack([means @ layer.float().masked_fill(~valid, 0) for layer in states], dim=1).cpu()
                known = (count > 0).cpu().numpy()
            _check(vectors, segments)
            for item, segment in enumerate(segments):
                words = words_of(segment)
                yield WordStates(segment, vectors[item, :, :words].numpy(), known[item, :words])


def words_of(segment: Segment) -> int:
    """Return the number of words of a segment, including those without pieces if the corpus has words."""
    return len(segment.words) or int(segment.word_ids.max(initial=NO_WORD)) + 1


def owners(word_ids: Tensor, *, words: int) -> Tensor:
    """Return 1 where a token is a piece of a word, `[batch, word, position]` float32.

    Args:
        word_ids: index of each token's word, `NO_WORD` for special tokens and padding, `[batch, position]`.
        words: number of words of the longest segment.
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
