"""A trial batch run through the tap: whose attention each call is, and whether the weights are those of eager."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from headscope.attention.fused.blocks import BlockSize
from headscope.attention.fused.fusible import fusible
from headscope.attention.fused.single_pass import fused_attention
from headscope.attention.model.learned_sink import attended, sink_logits, sink_of
from headscope.attention.model.tap import AttentionCall, Tap, bias_of, scaling_of
from headscope.attention.model.trial_batch import DECODER_LENGTHS, LENGTHS, TrialBatch, compresses
from headscope.encoding.segment import SegmentInfo
from headscope.models.anatomy import CallSite

# So that the short trial comes in blocks of a few rows, as long inputs do.
_SMALL_BLOCK = BlockSize(scores=24, few=1, low=2)


@dataclass(frozen=True)
class TapTrial:
    """What the tap saw of a trial batch.

    Attributes:
        calls: whose attention each call was, None for one that gives no map; None where the tap saw other calls than
            eager's layers.
        off: the largest difference from eager's weights.
        model_layers: by kind, which of the model's layers each call was of, as its module says.
    """

    calls: tuple[CallSite | None, ...] | None
    off: float
    model_layers: dict[str, list[Any]]


def run_tapped(trial: TrialBatch, path: str, expected: dict[str, list[Tensor]]) -> TapTrial:
    """Run the tap on a path.

    Args:
        trial: the padded batch.
        path: `fused` or `eager`.
        expected: its eager weights.
    """
    calls: list[CallSite | None] = []
    tapped_weights: list[tuple[CallSite, Tensor]] = []
    off = [0.0]  # fused against eager on the same queries and keys, call by call
    model_layers: dict[str, list[Any]] = {kind: [] for kind in expected}

    def listen(call: AttentionCall) -> Tensor:
        kind = _kind(trial, call, expected)
        keys = trial.keys(kind)
        if compresses(call.module) or (not trial.encoder_decoder and call.key.shape[2] != keys.ids.shape[1]):
            calls.append(None)  # keys that are no tokens: the model gives no map of this layer either
            return call.eager()[0]
        output, weights = call.eager()
        if path == "fused":
            off.append(_fused_difference(call, keys.to(call.query.device)))
        heads, groups = call.query.shape[1], call.key.shape[1]
        shared = tuple(head * groups // heads for head in range(heads))
        site = CallSite(kind, len(model_layers[kind]), shared, sink=sink_of(call) is not None)
        model_layers[kind].append(getattr(call.module, "layer_idx", None))
        calls.append(site)
        tapped_weights.append((site, weights))
        return output

    nothing = TapTrial(None, float("inf"), {})
    try:
        with Tap(trial.model, listen), torch.inference_mode():
            trial.model(**trial.inputs)
    except Exception:  # Falcon raises KeyError; others have options that eager alone takes
        return nothing
    if any(len(model_layers[kind]) != len(layers) for kind, layers in expected.items()):
        return nothing
    for site, weights in tapped_weights:
        rows = trial.queries(site.kind).valid[:, None, :, None].to(weights.device)
        off.append(float(((weights - expected[site.kind][site.layer]).abs() * rows).max()))
    return TapTrial(tuple(calls), max(off), model_layers)


def _kind(trial: TrialBatch, call: AttentionCall, expected: dict[str, list[Tensor]]) -> str:
    if not trial.encoder_decoder:
        return next(iter(expected))
    if call.query.shape[2] == max(LENGTHS):
        return "encoder"
    return "decoder" if call.key.shape[2] == max(DECODER_LENGTHS) else "cross"


def _fused_difference(call: AttentionCall, keys: SegmentInfo) -> float:
    """Return the largest difference of the fused path from eager's weights, sink and output (relative to its size)."""
    if not fusible(call):
        return float("inf")
    eager = attended(call)
    worst = 0.0
    for size in (None, _SMALL_BLOCK):
        result = fused_attention(
            call.query,
            call.key,
            call.value,
            mask=call.mask,
            bias=bias_of(call, slice(None)),
            sink=sink_logits(call),
            scaling=scaling_of(call),
            keys=keys,
            start=0,
            square=False,
            need_weights=True,
            size=size,
        )
        assert result.weights is not None
        off = (result.output - eager.output).abs().max() / eager.output.abs().max().clamp(min=1.0)
        worst = max(worst, float((result.weights - eager.weights).abs().max()), float(off))
        if result.sink is not None and eager.sink is not None:
            worst = max(worst, float((result.sink - eager.sink).abs().max()))
    return worst
