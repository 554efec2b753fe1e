"""The difference between two computations of a layer, and the size of the numbers that they round."""

import torch
from torch import Tensor

from headscope.attention.fused.fused_result import FusedResult
from headscope.attention.model.tap import AttentionCall, bias_of, scaling_of


def largest_score(call: AttentionCall) -> float:
    """Return a bound of the scores, |q| |k| plus the bias, which is the size of the numbers that are rounded."""
    lengths = (each.float().norm(dim=-1).amax() for each in (call.query, call.key))
    bias = bias_of(call, slice(None))
    added = 0.0 if bias is None else float(bias.float().abs().amax())
    return abs(scaling_of(call)) * float(next(lengths) * next(lengths)) + added


def difference(result: FusedResult, expected: FusedResult, valid: Tensor) -> float:
    """Return the largest difference in valid rows; that of outputs is relative to their size, minus their rounding."""
    assert result.statistics is not None
    assert expected.statistics is not None
    pairs = [(result.statistics, expected.statistics)]
    if result.norm_statistics is not None and expected.norm_statistics is not None:
        pairs.append((result.norm_statistics, expected.norm_statistics))
    rows = valid[:, None, :, None]
    off = 0.0
    for ours, theirs in pairs:
        same = (ours == theirs) | (ours.isnan() & theirs.isnan())
        difference = (ours - theirs).abs().where(~same & rows, 0.0)
        off = max(off, float(difference.nan_to_num(nan=torch.inf).amax()))
    of_rows = valid[:, :, None, None]
    size = expected.output.abs().where(of_rows, 0.0).amax().clamp(min=1.0)
    output = float((result.output - expected.output).abs().where(of_rows, 0.0).amax() / size)
    rounding = torch.finfo(result.output.dtype).eps
    return max(off, output - rounding if rounding > torch.finfo(torch.float32).eps else output)
