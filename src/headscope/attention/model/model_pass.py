"""One pass of a model over batches of segments: the common part of all sources that run a model.

It hooks the tap, counts the layers, pads the batches, reads the keys that each row may attend to, cuts layers into
tiles and passes them on. Each source decides what it computes of a layer, and when it makes the tiles.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headscope.attention.fused.blocks import Reach, reach_of
from headscope.attention.model.tap import AttentionCall, Tap
from headscope.attention.row_statistics import Visibility, visibility_of
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.encoding.segment import NO_WORD, Segment, SegmentInfo, sent
from headscope.encoding.vocabulary import Vocabulary
from headscope.errors import MemoryShortError, ModelError
from headscope.models.anatomy import Anatomy, CallSite
from headscope.models.forward_inputs import model_inputs, no_cache
from headscope.models.placement import device_of

_HOST = "DefaultCPUAllocator"  # the allocator raises a plain RuntimeError
# A tile holds at most this many weights (256 MiB of float32); a larger layer is split into several tiles.
TILE_LIMIT = 1 << 26


@contextmanager
def memory_in_words(inputs: int, tokens: int) -> Iterator[None]:
    """Turn an allocator's error into one that says what to do, and how many inputs were computed together.

    Args:
        inputs: number of inputs in the batch.
        tokens: number of tokens in the longest input.

    Raises:
        MemoryShortError: memory ran out in the block.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not isinstance(error, torch.OutOfMemoryError | MemoryError) and _HOST not in str(error):
            raise
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        together = f"{inputs} inputs of up to {tokens:,} tokens" if inputs > 1 else f"an input of {tokens:,} tokens"
        raise MemoryShortError(
            f"there is no memory for {together}; choose a smaller --batch-size or --max-length, --dtype bfloat16, or "
            "--device-map auto for a model that fills the device",
            inputs=inputs,
        ) from error


@runtime_checkable
class TileConsumer(Protocol):
    """The consumer of a source: it gets `begin`, then the tiles of a batch, then `end`."""

    def begin(self, batch: Batch) -> None:
        """Start a batch."""

    def update(self, tile: AttentionTile) -> None:
        """Process one tile of the batch."""

    def end(self, batch: Batch) -> None:
        """Close the batch: all its tiles have been passed."""


@dataclass(eq=False, repr=False)
class ModelPass:
    """A pass in progress: the batch that the model is computing, and the consumer of its tiles.

    Args:
        model: a transformers model.
        anatomy: result of `examine`.
        vocabulary: vocabulary of the tokenizer, for the classes of tokens.
        consumer: gets the tiles.
        padding_side: side on which short segments are padded, `right` or `left`.

    Attributes:
        device: device of the model.
        sides: tokens of the batch that the `encoder` and the `decoder` read.
    """

    model: nn.Module
    anatomy: Anatomy
    vocabulary: Vocabulary
    consumer: TileConsumer
    _: KW_ONLY
    padding_side: str = "right"

    def __post_init__(self) -> None:
        self.device = device_of(self.model)
        self.sides: dict[str, SegmentInfo] = {}
        self._cuts: dict[tuple[str, int], list[slice]] = {}
        # The masks are kept alive so that their ids are not reused.
        self._seen: dict[tuple[Any, ...], tuple[Tensor | None, Visibility]] = {}
        self._reach: dict[tuple[int, int], tuple[Tensor | None, Reach]] = {}

    def listening(self, listener: Callable[[AttentionCall, CallSite], Tensor]) -> Tap:
        """Hook the model for a `with` block: the listener gets each call of its attention, and the layer of the call.

        Calls that do not belong to a layer of the layout are answered as the model answers them.

        Raises:
            ModelError: inside the block, the model computes more layers than it did when it was examined.
        """

        def answer(call: AttentionCall) -> Tensor:
            if call.order >= len(self.anatomy.calls):
                raise ModelError("the model computed more layers than it did at the start; its layers must not vary")
            site = self.anatomy.calls[call.order]
            return call.eager()[0] if site is None else listener(call, site)

        return Tap(self.model, answer)

    @contextmanager
    def batch(self, segments: list[Segment], decoders: list[Segment] | None = None) -> Iterator[dict[str, Tensor]]:
        """Begin a batch and yield the model's arguments for it; the batch ends with the block.

        Args:
            segments: the inputs.
            decoders: inputs of the decoder of an encoder-decoder, if it reads another text (`model_inputs`).

        Raises:
            MemoryShortError: memory runs out in the block.
        """
        batch, inputs, decoder = model_inputs(
            segments, self.anatomy, self.vocabulary, padding_side=self.padding_side, decoders=decoders
        )
        batch = replace(batch, info=batch.info.to(self.device))
        self.sides = {"encoder": batch.info, "decoder": batch.info if decoder is None else decoder.info.to(self.device)}
        self._seen, self._reach, self._cuts = {}, {}, {}
        with memory_in_words(len(segments), max(map(len, segments))):
            self.consumer.begin(batch)
            yield {name: sent(tensor, self.device) for name, tensor in inputs.items()}
            self.consumer.end(batch)

    def call(self, inputs: dict[str, Tensor], **more: Any) -> Any:
        """Run the model, without a cache of keys and values."""
        return self.model(**inputs, **no_cache(self.anatomy), **more)

    def queries(self, site: CallSite) -> SegmentInfo:
        """Return the attending tokens (queries) of a layer."""
        return self.sides["encoder" if site.kind == "encoder" else "decoder"]

    def keys(self, site: CallSite) -> SegmentInfo:
        """Return the attended tokens (keys) of a layer."""
        return self.sides["decoder" if site.kind == "decoder" else "encoder"]

    def cuts(self, site: CallSite, weights_per_row: int, *, limit: int) -> list[slice]:
        """Cut a layer's rows, between words, into tiles of at most `limit` weights; into one if no weights are kept."""
        side = "encoder" if site.kind == "encoder" else "decoder"
        words = self.sides[side].on_host.word_ids.numpy()
        number = words.shape[1]
        height = max(1, limit // weights_per_row) if weights_per_row else number
        if height >= number:
            return [slice(0, number)]
        if (side, height) not in self._cuts:
            self._cuts[side, height] = self._cut(words, height)
        return self._cuts[side, height]

    @staticmethod
    def _cut(words: NDArray[np.int64], height: int) -> list[slice]:
        """Cut rows of `words`, `[batch, row]`, into runs of at most `height` rows, between words."""
        number = words.shape[1]
        inside = ((words[:, 1:] == words[:, :-1]) & (words[:, 1:] != NO_WORD)).any(0)
        allowed = np.flatnonzero(~inside) + 1
        cuts, start = [], 0
        while number - start > height:
            choices = allowed[(allowed > start) & (allowed <= start + height)]
            # A word longer than a tile makes the tile higher, since words are not cut.
            later = allowed[allowed > start + height]
            stop = int(choices[-1]) if len(choices) else int(later[0]) if len(later) else number
            cuts.append(slice(start, stop))
            start = stop
        if start < number:
            cuts.append(slice(start, number))
        return cuts

    def tile(self, site: CallSite, visibility: Visibility, **parts: Any) -> AttentionTile:
        """Return some rows of a layer as a tile for the consumer.

        Args:
            site: the layer.
            visibility: visibility of the rows.
            **parts: what was computed of the rows, by the names of the tile's attributes.
        """
        return AttentionTile(
            kind=site.kind,
            layer=site.layer,
            start=visibility.start,
            queries=self.queries(site),
            keys=self.keys(site),
            visibility=visibility,
            groups=site.groups,
            **parts,
        )

    def reach(self, mask: Tensor | None, keys: int, rows: slice) -> Reach:
        """Return the reach of rows; it is read from the mask once per batch."""
        key = id(mask), keys
        if key not in self._reach:
            self._reach[key] = (mask, reach_of(mask, keys))
        return self._reach[key][1].part(rows)

    def visibility(self, site: CallSite, rows: slice, mask: Tensor | None, *, sink: bool) -> Visibility:
        """Return the visibility of rows; the mask is read once per batch, since layers share the tensor."""
        key = (site.kind, rows.start, rows.stop, id(mask), sink)
        if key not in self._seen:
            visibility = visibility_of(
                mask,
                queries=self.queries(site),
                keys=self.keys(site),
                rows=rows,
                square=site.kind != "cross",
                causal=site.kind == "decoder",
                sink=sink,
            )
            self._seen[key] = (mask, visibility)
        return self._seen[key][1]
