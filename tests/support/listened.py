"""The computations of a model's own eager attention, segment by segment, as input of plain loops."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from headscope.attention.model.tap import Tap
from headscope.encoding.batching import collate
from headscope.encoding.segment import Segment, SegmentInfo
from headscope.encoding.vocabulary import Vocabulary


def listened(
    model: nn.Module, segments: Sequence[Segment], known: Vocabulary
) -> Iterator[tuple[SegmentInfo, list[tuple[Tensor, Tensor]]]]:
    """Yield each segment alone with every layer's weights and values, as float64.

    Weights are `[head, row, key]`; values `[head, key, width]`, of fewer heads where heads share them.
    """
    for segment in segments:
        batch = collate([segment], known, decoder=not known.has_cls)
        types = {"token_type_ids": batch.token_types} if known.has_cls else {}
        calls: list[tuple[Tensor, Tensor]] = []

        def listen(call, calls=calls):
            output, weights = call.eager()
            calls.append((weights[0].double(), call.value[0].double()))
            return output

        with Tap(model, listen), torch.inference_mode():
            model(input_ids=batch.info.ids, attention_mask=batch.info.valid.long(), **types)
        yield batch.info, calls


def output_projections(model: nn.Module, family: str) -> list[nn.Linear]:
    """Return each layer's output projection, of a tiny BERT or Llama."""
    if family == "bert":
        return [block.attention.output.dense for block in model.encoder.layer]
    return [block.self_attn.o_proj for block in model.layers]
