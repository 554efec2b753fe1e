"""A user's score of a model's output, for each input of a batch."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float64
from torch import Tensor

from headscope.encoding.segment import Segment
from headscope.errors import OptionError


def input_scores(
    score: Callable[[Any, Any], Any], segments: Sequence[Segment], outputs: Any
) -> Float64[Tensor, " batch"]:
    """Return a user's score of each input.

    Args:
        score: function from the model's output and the inputs, in the order of the batch, to a number for each input.
        segments: the inputs.
        outputs: output of the model for the batch.

    Raises:
        OptionError: the function returned something other than a finite number for each input.
    """
    with torch.no_grad():
        answer = score(outputs, tuple(segments))
    number = len(segments)
    expected = f"expected a finite number for each of the {number} inputs of a batch, [{number}]"
    try:
        scores = torch.as_tensor(answer).detach().double()
    except (TypeError, ValueError, RuntimeError):
        raise OptionError(f"score returned a {type(answer).__name__}; {expected}") from None
    if scores.shape != (number,):
        raise OptionError(f"score returned numbers of shape {list(scores.shape)}; {expected}")
    if not torch.isfinite(scores).all():
        document = segments[int((~torch.isfinite(scores)).nonzero()[0])].document
        raise OptionError(f"score is NaN or infinite on an input of document {document}; {expected}")
    return scores
