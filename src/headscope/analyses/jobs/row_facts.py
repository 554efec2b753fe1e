"""What is kept of a row in which a head is active: where it looks, at what, what it writes."""

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.analyses.distribution.drawn_tokens import ids_around, strongest_keys
from headscope.analyses.distribution.row_values import content_tokens
from headscope.analyses.jobs.chance import SORTS, Sorts, behind_copies, sorts_of_keys, uniform_baseline
from headscope.attention.tile import AttentionTile
from headscope.corpora.trees.universal_tags import TAGS
from headscope.encoding.segment import SegmentInfo

BEFORE, AFTER = 6, 3
"""Tokens that are kept on either side of a row's own."""
OUTPUT = 32
"""Numbers that are kept of what a row writes."""
FOUND = [("place", np.int32), ("hash", np.uint64), ("item", np.int32), ("head", np.int32), ("at", np.int32)]
"""A row of a tile, before more is told of it."""
ACTIVE_ROW = np.dtype(
    [
        ("place", np.int32),
        ("hash", np.uint64),
        ("segment", np.int32),
        ("row", np.int32),
        ("key", np.int32),
        ("key_id", np.int32),
        ("weight", np.float32),
        ("after_copy", np.bool_),
        ("row_class", np.uint8),
        ("key_class", np.uint8),
        ("row_starts", np.bool_),
        ("key_starts", np.bool_),
        ("ids", np.int32, BEFORE + 1 + AFTER),
        ("output", np.float32, OUTPUT),
        ("even", np.float32, len(SORTS)),
    ]
)
"""A row: its head, its hash, number of its segment and position there; position, id and weight of its
strongest key off the sink;
whether that stands right behind an earlier copy of the row's token; the `KeyClass` of both, and whether each begins a
word; ids of the tokens around the row; what it writes, NaN where that is not known (`shortened`);
the share of each of `SORTS` among the keys off the sink that it may attend to."""

TAG_NUMBERS: Mapping[str, int] = {tag: number for number, tag in enumerate(TAGS, 1)}
TAGGED = tuple(tag for tag in TAGS if tag not in ("PUNCT", "SYM", "X"))
"""Parts of speech by which jobs are told apart: punctuation is known from the classes of keys."""
TAGGED_ROW = np.dtype(
    [
        *ACTIVE_ROW.descr,
        ("row_tag", np.uint8),
        ("key_tag", np.uint8),
        ("even_tags", np.float32, len(TAGGED)),
    ]
)
"""The same of a row of a treebank: numbers of the parts of speech of row and key, 0 for none; the share of each of
`TAGGED` among the keys that it may attend to."""


def tell(
    told: NDArray[Any], chosen: NDArray[Any], tile: AttentionTile, *, tags: torch.Tensor | None = None
) -> None:
    """Write into rows what is told of them beyond their places.

    Args:
        told: of `ACTIVE_ROW`, or of `TAGGED_ROW` where there are tags.
        chosen: which these are, of `FOUND`.
        tile: the tile.
        tags: number of the part of speech of each word of the batch, `[batch, word]`, the last column 0 for tokens of
            no word.
    """
    device = tile.weights.device
    item, head, at = (
        torch.from_numpy(chosen[name].astype(np.int64)).to(device) for name in ("item", "head", "at")
    )
    # Off the sink and separators.
    weight, key = strongest_keys(tile, item, head, at, keys=content_tokens(tile.keys))
    row = at + tile.start
    queries, keys = tile.queries, tile.keys
    told["weight"] = weight.float().cpu().numpy()
    told["key"] = keys.positions[item, key].cpu().numpy()
    told["key_id"] = keys.ids[item, key].cpu().numpy()
    told["row_class"] = queries.classes[item, row].cpu().numpy()
    told["key_class"] = keys.classes[item, key].cpu().numpy()
    told["row_starts"] = _starts(queries.word_ids)[item, row].cpu().numpy()
    told["key_starts"] = _starts(keys.word_ids)[item, key].cpu().numpy()
    if tile.square:
        told["after_copy"] = behind_copies(tile, item, row).gather(1, key[:, None])[:, 0].cpu().numpy()
    told["ids"] = ids_around(queries, item, row, before=BEFORE, after=AFTER).cpu().numpy()
    if tile.vectors is None:
        told["output"] = np.nan
    else:
        told["output"] = shortened(tile.vectors.outputs[item, head, at]).cpu().numpy()
    sorts: Sorts = sorts_of_keys
    if tags is not None:
        of_rows, of_keys = (tags_of(tags.to(device), info) for info in (queries, keys))
        told["row_tag"], told["key_tag"] = of_rows[item, row].cpu().numpy(), of_keys[item, key].cpu().numpy()
        sorts = partial(_sorts_and_tags, of_keys)
    even = uniform_baseline(tile, item, at, sorts).float().cpu().numpy()
    told["even"] = even[:, : len(SORTS)]
    if tags is not None:
        told["even_tags"] = even[:, len(SORTS) :]


def tags_of(tags: torch.Tensor, info: SegmentInfo) -> torch.Tensor:
    """Return the number of the part of speech of each token, `[batch, position]`; 0 where it has none."""
    # Tokens of no word have word -1: the last column.
    return tags[torch.arange(len(tags), device=tags.device)[:, None], info.word_ids]


def _sorts_and_tags(
    tags: torch.Tensor, tile: AttentionTile, items: torch.Tensor, places: torch.Tensor
) -> list[torch.Tensor]:
    """Return which keys are of each of `SORTS` and of `TAGGED`; `tags` are those of all keys, `[batch, key]`."""
    own = tags[items]
    return [*sorts_of_keys(tile, items, places), *(own == TAG_NUMBERS[tag] for tag in TAGGED)]


def shortened(outputs: torch.Tensor) -> torch.Tensor:
    """Return what rows write as so many numbers, `[row, OUTPUT]` float32, whatever the width of a head.

    Of wider heads those along directions drawn once, at right angles to one another, which keep what lies apart apart;
    of narrower ones the numbers themselves, and zeros.

    Args:
        outputs: `sum_j a_ij v_j`, `[row, width]`.
    """
    width = outputs.shape[1]
    if width > OUTPUT:
        return outputs.float() @ _drawn_directions(width).to(outputs.device)
    return torch.nn.functional.pad(outputs.float(), (0, OUTPUT - width))


@cache
def _drawn_directions(width: int) -> torch.Tensor:
    """Return directions at right angles, `[width, OUTPUT]`, the same in every run."""
    drawn = np.random.default_rng(width).normal(size=(width, OUTPUT))
    return torch.from_numpy(np.linalg.qr(drawn)[0]).float()


def _starts(words: torch.Tensor) -> torch.Tensor:
    """Return which tokens are the first of a word, `[batch, position]` bool."""
    starts = words >= 0
    starts[:, 1:] &= words[:, 1:] != words[:, :-1]
    return starts
