"""The output of a part of a model, without the graph for a backward pass."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor


def without_graph(returned: Any) -> Any:
    """Return the same numbers without a gradient graph; values without tensors are returned unchanged.

    Args:
        returned: a tensor, or several in a tuple, a list or an output of transformers.
    """
    if isinstance(returned, Tensor):
        return returned.detach() if returned.requires_grad else returned
    if type(returned) in (tuple, list):
        return type(returned)(without_graph(each) for each in returned)
    if isinstance(returned, Mapping):
        return type(returned)(**{name: without_graph(each) for name, each in returned.items()})
    return returned
