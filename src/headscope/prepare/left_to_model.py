"""What a run's options leave to its model: how lines are packed, and how many models with random weights are measured.

A model that reads no pairs reads joined lines. A random model takes as long as the trained one, and is made in memory
beside it: of a large model none is measured unless it is asked for.
"""

from dataclasses import replace

from torch import nn

from headscope.declarations.compat import DEFAULT_PACKING, UNSET
from headscope.declarations.run_options import RunOptions
from headscope.models.anatomy import Anatomy

PAIRS = ("pretraining", "paragraphs")
"""Packings in which a document of one line makes no input."""
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


def with_packing(options: RunOptions, anatomy: Anatomy) -> RunOptions:
    """Return the options with the packing of the model, where they do not say one."""
    return options if options.packing != UNSET else replace(options, packing=packing_of(anatomy))
