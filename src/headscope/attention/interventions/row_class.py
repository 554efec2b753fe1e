"""Classes of rows: a head writes other things where a separator attends than where a word does."""

import torch
from jaxtyping import Int
from torch import Tensor

from headscope.encoding.segment import SegmentInfo
from headscope.encoding.vocabulary import KeyClass

ROW_CLASSES = ("cls", "sep", "first", "other")
"""`first` is the first token where that is neither of the special ones."""


def row_classes(tokens: SegmentInfo) -> Int[Tensor, "batch row"]:
    """Return the class of each token that attends, as its position in `ROW_CLASSES`; padding is `other`."""
    cls, sep, first, other = range(len(ROW_CLASSES))
    classes = torch.where(tokens.positions == 0, first, other)
    classes = torch.where(tokens.classes == KeyClass.SEP, sep, classes)
    return torch.where(tokens.classes == KeyClass.CLS, cls, classes).masked_fill(~tokens.valid, other)
