"""What a part of a model returned, without what a backward pass would need of it."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor


def without_graph(returned: Any) -> Any:
    """Return the same numbers, that nobody can take a gradient of; what holds no tensor as it is.

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
