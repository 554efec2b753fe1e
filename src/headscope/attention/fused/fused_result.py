"""The result of the fused path for a layer."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class FusedResult:
    """The result of a fused call.

    Attributes:
        output: `[batch, row, head, width]`, as attention functions return it.
        statistics: row statistics, `[batch, head, row, ROW_STATISTICS]`, or None where they were not requested.
        weights: `[batch, head, row, key]`, or None where they were not requested.
        norm_statistics: like `statistics`, of the norm-weighted attention, where the norms of the keys were passed.
        sink: the weight of the learned sink, `[batch, head, row]`, or None where there is none.
    """

    output: Tensor
    statistics: Tensor | None
    weights: Tensor | None
    norm_statistics: Tensor | None = None
    sink: Tensor | None = None
