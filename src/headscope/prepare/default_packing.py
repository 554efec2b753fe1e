"""How a run packs lines where its options do not say so: in pairs, or joined for a model that reads no pairs."""

from dataclasses import replace

from headscope.declarations.compat import DEFAULT_PACKING, UNSET
from headscope.declarations.run_options import RunOptions
from headscope.models.anatomy import Anatomy

PAIRS = ("pretraining", "paragraphs")
"""Packings in which a document of one line makes no input."""


def packing_of(anatomy: Anatomy) -> str:
    """Return how lines become inputs of a model: a decoder has never seen pairs, and reads joined lines."""
    reads_pairs = any(part.kind == "encoder" for part in anatomy.layout)
    return DEFAULT_PACKING if reads_pairs else "joined"


def with_packing(options: RunOptions, anatomy: Anatomy) -> RunOptions:
    """Return the options with the packing of the model, where they do not say one."""
    return options if options.packing != UNSET else replace(options, packing=packing_of(anatomy))
