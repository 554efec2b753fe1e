"""Defaults that depend on model and text: how lines are packed, and how many random models are measured.

A model that does not read pairs reads joined lines, and a text without pairs is read line by line. A model with
random weights takes as long as the trained one and is held in memory together with it, so a large model has no
such controls unless the user requests them.
"""

from dataclasses import replace

from torch import nn

from headscope.declarations.compat import DEFAULT_PACKING, UNSET
from headscope.declarations.run_options import RunOptions
from headscope.encoding.line_packing import NO_PAIR
from headscope.models.anatomy import Anatomy

SINGLE_LINES = (
    "no document has a second line to make a pair with, so each line is an input by itself (--packing single)"
)
"""Note for a text that is read by single lines because the options leave the packing open."""
DEFAULT_CONTROLS = 3
LARGE = 10**9
"""Number of model parameters from which on there are no controls unless the user requests them."""


def packing_of(anatomy: Anatomy) -> str:
    """Return the default packing for a model: a decoder has never seen pairs, and reads joined lines."""
    reads_pairs = any(part.kind == "encoder" for part in anatomy.layout)
    return DEFAULT_PACKING if reads_pairs else "joined"


def controls_of(model: nn.Module) -> int:
    """Return the default number of models with random weights that are measured along with a model."""
    return DEFAULT_CONTROLS if sum(each.numel() for each in model.parameters()) < LARGE else 0


def with_packing(options: RunOptions, anatomy: Anatomy, *, only_single_lines: bool = False) -> RunOptions:
    """Return the options with the packing that fits model and text, if they leave it open.

    Args:
        options: options of the run.
        anatomy: heads of the model.
        only_single_lines: whether no document of the text has a second line.
    """
    if options.packing != UNSET:
        return options
    packing = packing_of(anatomy)
    return replace(options, packing="single" if only_single_lines and packing in NO_PAIR else packing)
