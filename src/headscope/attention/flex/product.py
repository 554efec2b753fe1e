"""One call of flex attention: weights times columns, the log-sum-exp and the largest score of each row."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad

from headscope.storage.environment import environment

if TYPE_CHECKING:
    from torch.nn.attention.flex_attention import BlockMask

_FOLDERS = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
# Precompiled headers are stored in torch's default folder, whatever the environment says. Older versions of torch lack
# the option, and precompile none.
_HEADERS = "cpp_cache_precompile_headers"
# Kernels need at least this many columns.
_FEWEST = 16
_KINDS = 64
# Each float32 product is computed as three products of tensor cores, which together are as exact as float32 needs.
PRECISION = "'tf32x3'"


def compiled(function: Callable[..., Any], *, most_kinds: int) -> Callable[..., Any]:
    """Return a function that torch.compile compiles, whose code is kept in a private folder until the process ends.

    Args:
        function: the function to compile; its whole graph must compile.
        most_kinds: maximum number of kinds of arguments that it is compiled for.
    """
    with _private_folders():
        fast: Callable[..., Any] = torch.compile(function, fullgraph=True)

    def compute(*arguments: object) -> Any:
        # `torch.compile` has an argument for the limit only since torch 2.13.
        with _private_folders(), torch._dynamo.config.patch(recompile_limit=most_kinds):
            return fast(*arguments)

    return compute


@contextmanager
def _private_folders() -> Iterator[None]:
    """Make torch and triton use this process's own folder; otherwise torch writes its default into the environment."""
    with environment(dict.fromkeys(_FOLDERS, _folder().name)):
        from torch._inductor import config  # this import creates the folder named in the environment

        with config.patch({_HEADERS: False} if hasattr(config, _HEADERS) else {}):
            yield


@cache
def _folder() -> "TemporaryDirectory[str]":
    """Make a folder that only its owner can read or write (mode 0700); it is removed when the process ends."""
    return TemporaryDirectory(prefix="headscope-compiled-", ignore_cleanup_errors=True)


@dataclass(frozen=True, eq=False)
class FlexProduct:
    """The result of a call, per row.

    Attributes:
        sums: sums of the columns under the weights, `[batch, head, row, column]`.
        lse: ln sum exp of the scores, `[batch, head, row]`; -inf in a row that sees nothing.
        largest: largest score, shaped as `lse`.
    """

    sums: Float[Tensor, "batch head row column"]
    lse: Float[Tensor, "batch head row"]
    largest: Float[Tensor, "batch head row"]


def flex_product(
    query: Float[Tensor, "batch head row width"],
    key: Float[Tensor, "batch group key width"],
    columns: Float[Tensor, "batch group key column"],
    *,
    scaling: float,
    blocks: "BlockMask | None" = None,
    bias: Float[Tensor, "batch head row key"] | None = None,
    of_key: Float[Tensor, "batch head key"] | None = None,
) -> FlexProduct:
    """Compute softmax(scaling q k' + bias + of_key) times columns; the function is compiled if there is an accelerator.

    On a CPU it is computed as in the definition, with all scores in memory, which is meant for tests.

    Args:
        query: `[batch, head, row, width]`.
        key: `[batch, group, key, width]`; consecutive heads share a group.
        columns: columns to sum, `[batch, group, key, column]`.
        scaling: factor of the scores.
        blocks: keys that each row sees.
        bias: bias added to the scores, `[batch, head, row, key]`.
        of_key: term added to all scores of a key, `[batch, head, key]`; -inf hides it.
    """
    number = columns.shape[-1]
    compute = _compiled() if query.device.type == "cuda" else _flex
    padded = pad(columns, (0, max(0, _FEWEST - number)))
    sums, lse, largest = compute(query, key, padded, scaling, blocks, bias, of_key)
    return FlexProduct(sums[..., :number], lse, largest)


def _flex(
    query: Tensor,
    key: Tensor,
    columns: Tensor,
    scaling: float,
    blocks: "BlockMask | None",
    bias: Tensor | None,
    of_key: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    from torch.nn.attention.flex_attention import AuxRequest, flex_attention

    # torch's types lack this option of its CUDA kernels.
    options: Any = {"FLOAT32_PRECISION": PRECISION} if query.device.type == "cuda" else None
    result: Any = flex_attention(
        query,
        key,
        columns,
        score_mod=_added(bias, of_key),
        block_mask=blocks,
        scale=scaling,
        enable_gqa=query.shape[1] != key.shape[1],
        return_aux=AuxRequest(lse=True, max_scores=True),
        kernel_options=options,
    )
    sums, beside = result
    return sums, beside.lse, beside.max_scores


def _added(bias: Tensor | None, of_key: Tensor | None) -> Callable[..., Tensor] | None:
    """Return the function that adds the position bias and the term of the key to a score."""
    if bias is not None and of_key is not None:
        return lambda score, item, head, row, key: score + bias[item, head, row, key] + of_key[item, head, key]
    if bias is not None:
        return lambda score, item, head, row, key: score + bias[item, head, row, key]
    if of_key is not None:
        return lambda score, item, head, row, key: score + of_key[item, head, key]
    return None


@cache
def _compiled() -> Callable[..., tuple[Tensor, Tensor, Tensor]]:
    # Each combination (wide or narrow columns, norms, biases, one input or several) is compiled once.
    return compiled(_flex, most_kinds=_KINDS)
