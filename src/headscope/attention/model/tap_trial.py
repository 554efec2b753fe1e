"""A trial batch run through the tap: the layer of each call; its weights and fused results against the model's."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from headscope.attention.fused.block_products import FusedResult
from headscope.attention.fused.blocks import BlockSize
from headscope.attention.fused.single_pass import fused_call, why_not_fusible
from headscope.attention.model.tap import AttentionCall, EagerOutput, Tap, attended, bias_of, scaling_of, sink_of
from headscope.attention.model.trial_batch import DECODER_LENGTHS, LENGTHS, TrialBatch, compresses, in_a_line
from headscope.encoding.segment import SegmentInfo
from headscope.models.anatomy import CallSite

# Tolerance of a weight. Scores are rounded in proportion to their size, and a weight's error is as large as its
# score's.
_TOLERANCE = 1e-6
_ROUNDING = torch.finfo(torch.float32).eps
# So that a short input is cut into blocks of a few rows, as long inputs are.
_SMALL_BLOCK = BlockSize(scores=24, few=1, low=2)


@dataclass(frozen=True)
class TapTrial:
    """The result of running a trial batch through the tap.

    Attributes:
        calls: the layer of each call, None for a call that gives no map.
        trouble: reason against the path, as the end of a sentence; None if the path can be used.
        model_layers: by kind, the model's layer index of each call, from its module.
    """

    calls: tuple[CallSite | None, ...]
    trouble: str | None
    model_layers: dict[str, list[Any]]


def run_tapped(trial: TrialBatch, path: str, expected: dict[str, list[Tensor]]) -> TapTrial:
    """Run the tap on a path.

    Args:
        trial: the padded batch.
        path: `fused` or `eager`.
        expected: eager weights of the batch.
    """
    calls: list[CallSite | None] = []
    tapped_weights: list[tuple[CallSite, Tensor]] = []
    troubles: list[str] = []  # fused and eager compared on the same queries and keys, call by call
    model_layers: dict[str, list[Any]] = {kind: [] for kind in expected}

    def listen(call: AttentionCall) -> Tensor:
        kind = _kind(trial, call, expected)
        keys = trial.keys(kind)
        if compresses(call.module) or (not trial.encoder_decoder and call.key.shape[2] != keys.ids.shape[1]):
            calls.append(None)  # the keys are not tokens, and the model gives no map of this layer, either
            return call.eager()[0]
        output, weights = call.eager()
        if path == "fused" and (reason := why_not_fused(call, keys.to(call.query.device))) is not None:
            troubles.append(reason)
        heads, groups = call.query.shape[1], call.key.shape[1]
        shared = tuple(head * groups // heads for head in range(heads))
        site = CallSite(kind, len(model_layers[kind]), shared, sink=sink_of(call) is not None)
        model_layers[kind].append(getattr(call.module, "layer_idx", None))
        calls.append(site)
        tapped_weights.append((site, weights))
        return output

    try:
        with Tap(trial.model, listen), torch.inference_mode():
            trial.model(**trial.inputs)
    except Exception as error:  # Falcon raises KeyError; others pass options that only eager accepts
        return TapTrial((), f"transformers' attention interface is not served ({in_a_line(error)})", {})
    if any(len(model_layers[kind]) != len(layers) for kind, layers in expected.items()):
        return TapTrial((), "the model does not use transformers' attention interface in every layer", {})
    for site, weights in tapped_weights:
        rows = trial.queries(site.kind).valid[:, None, :, None].to(weights.device)
        difference = (weights - expected[site.kind][site.layer]).abs()
        off = float(difference.where(rows, 0.0).max())  # rows of padding may hold anything
        if not off <= _TOLERANCE:
            troubles.insert(0, f"weights are off by {off:.1e} from those that the model gives out")
    return TapTrial(tuple(calls), troubles[0] if troubles else None, model_layers)


def _kind(trial: TrialBatch, call: AttentionCall, expected: dict[str, list[Tensor]]) -> str:
    if not trial.encoder_decoder:
        return next(iter(expected))
    if call.query.shape[2] == max(LENGTHS):
        return "encoder"
    return "decoder" if call.key.shape[2] == max(DECODER_LENGTHS) else "cross"


def why_not_fused(call: AttentionCall, keys: SegmentInfo) -> str | None:
    """Return the reason against the fused path, as the end of a sentence; None if it gives the model's attention.

    Args:
        call: call of the attention function, with the model's queries and keys in the model's precision.
        keys: the attended tokens.
    """
    if (reason := why_not_fusible(call)) is not None:
        return reason
    try:
        exact = attended(replace(call, query=call.query.double(), key=call.key.double(), value=call.value.double()))
    except Exception as error:  # a model's own code may raise anything
        return f"the model's own function does not compute in float64 ({type(error).__name__})"
    allowed = _TOLERANCE + _ROUNDING * _largest_score(call)
    for size in (None, _SMALL_BLOCK):
        result = fused_call(call, keys=keys, square=False, need_weights=True, size=size)
        off = _difference(result, exact)
        if not off <= allowed:
            return f"it is off by {off:.1e} from the model's own function, and {allowed:.1e} is allowed"
    return None


def _largest_score(call: AttentionCall) -> float:
    """Return the largest score if all terms had the same sign, which is the size of the numbers that are rounded."""
    groups = call.key.shape[1]
    by_group = call.query.abs().double().reshape(len(call.query), groups, -1, call.query.shape[-1])
    products = abs(scaling_of(call)) * (by_group @ call.key.abs().double().transpose(2, 3)).amax()
    bias = bias_of(call, slice(None))
    if bias is not None:
        visible = bias > torch.finfo(bias.dtype).min / 2
        products = products + bias.double().abs().where(visible, 0.0).amax()
    return float(products)


def _difference(result: FusedResult, exact: EagerOutput) -> float:
    """Return the largest difference in weights and sink, and in the output relative to its size and rounding."""
    assert result.weights is not None
    size = exact.output.abs().amax().clamp(min=1.0)
    output = (result.output - exact.output).abs().amax() / size
    rounding = torch.finfo(result.output.dtype).eps
    differences: list[Tensor] = [
        (result.weights - exact.weights).abs().amax(),
        output - rounding if rounding > _ROUNDING else output,
    ]
    if result.sink is not None and exact.sink is not None:
        differences.append((result.sink - exact.sink).abs().amax())
    return float(torch.stack([each.double() for each in differences]).amax())
