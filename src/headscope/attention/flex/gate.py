"""Choice of the layers that flex attention computes: those where it gives the same as blocks of scores, but faster.

It is tried on the first long input of each layer, since the gain depends on the device, and the computation on the
model. Until then, and wherever it is slower, blocks of scores are computed (the folder `fused`).
"""

import time
from collections.abc import Callable, Collection
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial

import torch
from torch import Tensor

from headscope.attention.flex.layer import FlexMask, flex_layer, flex_mask, why_not_flex
from headscope.attention.flex.row_sums import flex_rows
from headscope.attention.fused.fused_layer import FusedResult
from headscope.attention.model.tap import AttentionCall, bias_of, scaling_of
from headscope.encoding.segment import SegmentInfo
from headscope.models.anatomy import CallSite

LONG = 1024
"""Minimum number of keys to try flex attention: blocks of scores of shorter inputs stay in a GPU's cache."""
# _TOLERANCE is for a share, an entropy, or a length relative to the longest; _ROUNDINGS is the number of float32
# roundings of scores on the way to an entropy.
_TOLERANCE, _ROUNDINGS = 1e-5, 16
_FAILED = "it cannot be computed here ({error})"
Compute = Callable[[], FusedResult]


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


def timed(compute: Compute, device: torch.device) -> tuple[FusedResult, float]:
    """Return the result of a computation, and the seconds that it takes."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    began = time.perf_counter()
    result = compute()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return result, time.perf_counter() - began


@dataclass(eq=False)
class FlexGate:
    """Choose between flex attention and blocks of scores, for the layers of one model.

    Args:
        devices: types of device on which flex attention is tried. On a CPU it writes all scores.
        long: smallest number of keys of an input on which it is tried.
        timer: returns the result of a computation, and the seconds that it takes.
    """

    _: KW_ONLY
    devices: Collection[str] = ("cuda",)
    long: int = LONG
    timer: Callable[[Compute, torch.device], tuple[FusedResult, float]] = timed

    def __post_init__(self) -> None:
        self._refusals: dict[tuple[str, int, bool], str | None] = {}
        self._seconds: list[tuple[float, float]] = []
        self._weights_read = False
        # The masks are kept alive so that their ids are not reused.
        self._masks: dict[tuple[int, int], tuple[Tensor | None, FlexMask | None]] = {}

    def begin(self) -> None:
        """Start a batch: release the masks of the previous one."""
        self._masks = {}

    def tries(self, call: AttentionCall, *, need_weights: bool) -> bool:
        """Return True if flex attention may compute a call: long, on a suitable device, and nobody reads its weights.

        Args:
            call: call of the attention function.
            need_weights: whether the weights themselves are read.
        """
        if call.query.device.type not in self.devices or call.key.shape[2] < self.long:
            return False
        self._weights_read |= need_weights
        return not need_weights

    def compute(
        self,
        call: AttentionCall,
        site: CallSite,
        *,
        queries: SegmentInfo,
        keys: SegmentInfo,
        norms: Tensor | None,
        blocks: Compute,
    ) -> FusedResult:
        """Compute all rows of a layer, either by flex attention or in blocks of scores.

        Args:
            call: call of the attention function.
            site: layer of the call.
            queries: the attending tokens.
            keys: the attended tokens.
            norms: norm of each head's output per key, `[batch, head, key]`, for norm-weighted statistics.
            blocks: computes the same in blocks of scores.
        """
        mask = self._mask(call)
        if mask is None:
            self._refusals.setdefault((site.kind, site.layer, False), "the mask adds to the scores of visible keys")
            return blocks()
        layer, flexed = (site.kind, site.layer, norms is not None), partial(_flexed, call, site, mask, keys, norms)
        if layer not in self._refusals:
            self._refusals[layer] = self._why_not(call, flexed, blocks, queries.valid)
        if self._refusals[layer] is not None:
            return blocks()
        try:
            return flexed()
        except torch.OutOfMemoryError:
            raise  # a smaller batch may fit
        except Exception as error:  # another length may need a new compilation, which may fail
            self._refusals[layer] = _FAILED.format(error=type(error).__name__)
            return blocks()

    def _mask(self, call: AttentionCall) -> FlexMask | None:
        rows = call.query.shape[2]
        key = id(call.mask), rows
        if key not in self._masks:
            self._masks[key] = call.mask, flex_mask(call.mask, rows=rows)
        return self._masks[key][1]

    def _why_not(self, call: AttentionCall, flexed: Compute, blocks: Compute, valid: Tensor) -> str | None:
        if (reason := why_not_flex(call)) is not None:
            return reason
        device = call.query.device
        try:
            flexed()  # compilation is not timed
            result, seconds = self.timer(flexed, device)
        except Exception as error:  # a compiler may fail on this machine in any way
            return _FAILED.format(error=type(error).__name__)
        blocks()
        expected, block_seconds = self.timer(blocks, device)
        allowed = _TOLERANCE + _ROUNDINGS * torch.finfo(torch.float32).eps * largest_score(call)
        off = difference(result, expected, valid)
        if not off <= allowed:
            return f"it is off by {off:.1e} from blocks of scores, and {allowed:.1e} is allowed"
        if seconds >= block_seconds:
            return f"blocks of scores are as fast ({_milliseconds(block_seconds, seconds)} a layer)"
        self._seconds.append((seconds, block_seconds))
        return None

    @property
    def note(self) -> str | None:
        """The choice that was made, in a sentence; None before the first long input on a suitable device."""
        of = f"row statistics of inputs of {self.long:,} tokens and more are computed"
        refusals = [reason for reason in self._refusals.values() if reason is not None]
        number = len(self._refusals) - len(refusals)
        weights = "where weights themselves are read, by blocks of scores"
        if number:
            flex, block = (sorted(times)[number // 2] for times in zip(*self._seconds, strict=True))
            parts = [f"{of} by flex attention ({_milliseconds(flex, block)} by blocks of scores, a layer)"]
            if refusals:
                parts.append(f"in {len(refusals)} of {len(self._refusals)} layers by blocks: {refusals[0]}")
            return "; ".join([*parts, weights] if self._weights_read else parts)
        if refusals:
            return f"{of} by blocks of scores, not by flex attention: {refusals[0]}"
        if self._weights_read:
            return f"{of} by blocks of scores, not by flex attention: a measurement of the same pass reads weights"
        return None


def _flexed(
    call: AttentionCall, site: CallSite, mask: FlexMask, keys: SegmentInfo, norms: Tensor | None
) -> FusedResult:
    layer, square = flex_layer(call, mask), site.kind != "cross"
    rows = flex_rows(layer, keys=keys, square=square)
    written = None
    if norms is not None:
        written = flex_rows(replace(layer, sink=None), keys=keys, square=square, norms=norms).statistics
    return FusedResult(
        output=rows.output.transpose(1, 2).to(call.query.dtype).contiguous(),
        statistics=rows.statistics,
        weights=None,
        norm_statistics=written,
        sink=rows.sink,
    )


def _milliseconds(first: float, second: float) -> str:
    return f"{1e3 * first:,.1f} ms, and {1e3 * second:,.1f} ms"
