"""What a run's options leave to model and text: how lines are packed, and how many random models are measured.

A model that reads no pairs reads joined lines, and a text without pairs is read line by line. A model with random
weights takes as long as the trained one, and is made in memory
beside it: of a large model none is measured unless it is asked for.
"""

from dataclasses import replace

from torch import nn

from headscope.declarations.compat import DEFAULT_PACKING, UNSET
from headscope.declarations.run_options import RunOptions
from headscope.encoding.packing.line_packing import NO_PAIR
from headscope.models.anatomy import Anatomy

SINGLE_LINES = (
    "no document has a second line to make a pair with, so each line is an input by itself (--packing single)"
)
"""What a run says of a text that is read by single lines because the options leave the packing open."""
DEFAULT_CONTROLS = 3
LARGE = 10**9
"""Parameters of a model from which on there are no controls unless they are asked for."""


def packing_of(anatomy: Anatomy) -> str:
    """Return how lines become inputs of a model: a decoder has never seen pairs, and reads joined lines."""
    reads_pairs = any(part.kind == "encoder" for part in anatomy.layout)
    return DEFAULT_PACKING if reads_pairs else "joined"


def controls_of(model: nn.Module) -> int:
    """Return how many models with random weights are measured beside a model by default."""
    return DEFAULT_CONTROLS if sum(each.numel() for each in model.parameters()) < LARGE else 0


def with_packing(options: RunOptions, anatomy: Anatomy, *, only_single_lines: bool = False) -> RunOptions:
    """Return the options with the packing that fits model and text, where they do not say one.

    Args:
        options: of the run.
        anatomy: the model's heads.
        only_single_lines: whether no document of the text has a second line.
    """
    if options.packing != UNSET:
        return options
    packing = packing_of(anatomy)
    return replace(options, packing="single" if only_single_lines and packing in NO_PAIR else packing)
