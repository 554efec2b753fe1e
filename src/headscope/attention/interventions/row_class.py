"""Classes of rows: a head's output differs between separators and words as attending tokens."""

import torch
from jaxtyping import Int
from torch import Tensor

from headscope.encoding.segment import SegmentInfo
from headscope.encoding.vocabulary import KeyClass

ROW_CLASSES = ("cls", "sep", "first", "other")
"""`first` is the first token if it is not a special token."""


def row_classes(tokens: SegmentInfo) -> Int[Tensor, "batch row"]:
    """Return the class of each attending token, as its position in `ROW_CLASSES`; padding is `other`."""
    cls, sep, first, other = range(len(ROW_CLASSES))
    classes = torch.where(tokens.positions == 0, first, other)
    classes = torch.where(tokens.classes == KeyClass.SEP, sep, classes)
    return torch.where(tokens.classes == KeyClass.CLS, cls, classes).masked_fill(~tokens.valid, other)
