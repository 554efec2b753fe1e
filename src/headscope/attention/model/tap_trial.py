"""A trial batch run through the tap: the layer of each call, and a comparison of its weights with eager attention."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from headscope.attention.model.fused_check import why_not_fused
from headscope.attention.model.learned_sink import sink_of
from headscope.attention.model.tap import AttentionCall, Tap
from headscope.attention.model.trial_batch import DECODER_LENGTHS, LENGTHS, TrialBatch, compresses, in_a_line
from headscope.models.anatomy import CallSite

_TOLERANCE = 1e-6


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
