"""The facts kept of a row in which a head is active: where it looks, at what, what it writes."""

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.analyses.distribution.row_tokens import ids_around, strongest_keys
from headscope.analyses.distribution.row_values import content_tokens
from headscope.analyses.jobs.uniform_baseline import (
    SORTS,
    Sorts,
    behind_copies,
    sorts_of_keys,
    uniform_baseline,
)
from headscope.attention.tile import AttentionTile
from headscope.corpora.trees.universal_tags import TAGS
from headscope.encoding.segment import SegmentInfo
from headscope.statistics.sums.head_row_sample import HEAD_ROW

BEFORE, AFTER = 6, 3
"""Number of tokens kept on either side of the row's token."""
OUTPUT = 32
"""Number of components kept of a row's output."""
ACTIVE_ROW = np.dtype(
    [
        *HEAD_ROW,
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
        ("uniform", np.float32, len(SORTS)),
    ]
)
"""A row, whose cell is its head: position, id and weight of its strongest non-sink key; whether that key stands right
after an earlier copy of the row's token; the `KeyClass` of both, and whether each begins a word; ids of the tokens
around the row; its output (`shortened`), NaN where unknown; the share of each of `SORTS` among the non-sink keys that
it can attend to."""

TAG_NUMBERS: Mapping[str, int] = {tag: number for number, tag in enumerate(TAGS, 1)}
TAGGED = tuple(tag for tag in TAGS if tag not in ("PUNCT", "SYM", "X"))
"""Parts of speech that are features of jobs; punctuation is known from the classes of keys."""
TAGGED_ROW = np.dtype(
    [
        *ACTIVE_ROW.descr,
        ("row_tag", np.uint8),
        ("key_tag", np.uint8),
        ("uniform_tags", np.float32, len(TAGGED)),
    ]
)
"""A row of a treebank, which also has the numbers of the parts of speech of row and key, 0 for none, and the share of
each of `TAGGED` among the keys that it can attend to."""


def add_facts(
    facts: NDArray[Any], candidates: NDArray[Any], tile: AttentionTile, *, tags: torch.Tensor | None = None
) -> None:
    """Fill in the facts of rows, in place.

    Args:
        facts: the rows to fill, of `ACTIVE_ROW`, or of `TAGGED_ROW` where there are tags.
        candidates: their indices in the tile.
        tile: the tile.
        tags: number of the part of speech of each word of the batch, `[batch, word]`; the last column is 0, for
            tokens without a word.
    """
    device = tile.weights.device
    item, head, at = (
        torch.from_numpy(candidates[name].astype(np.int64)).to(device) for name in ("segment", "head", "at")
    )
    # Sinks and separators are left out.
    weight, key = strongest_keys(tile, item, head, at, keys=content_tokens(tile.keys))
    row = at + tile.start
    queries, keys = tile.queries, tile.keys
    facts["weight"] = weight.float().cpu().numpy()
    facts["key"] = keys.positions[item, key].cpu().numpy()
    facts["key_id"] = keys.ids[item, key].cpu().numpy()
    facts["row_class"] = queries.classes[item, row].cpu().numpy()
    facts["key_class"] = keys.classes[item, key].cpu().numpy()
    facts["row_starts"] = _starts(queries.word_ids)[item, row].cpu().numpy()
    facts["key_starts"] = _starts(keys.word_ids)[item, key].cpu().numpy()
    if tile.square:
        facts["after_copy"] = behind_copies(tile, item, row).gather(1, key[:, None])[:, 0].cpu().numpy()
    facts["ids"] = ids_around(queries, item, row, before=BEFORE, after=AFTER).cpu().numpy()
    if tile.vectors is None:
        facts["output"] = np.nan
    else:
        facts["output"] = shortened(tile.vectors.outputs[item, head, at]).cpu().numpy()
    sorts: Sorts = sorts_of_keys
    if tags is not None:
        of_rows, of_keys = (tags_of(tags.to(device), info) for info in (queries, keys))
        facts["row_tag"], facts["key_tag"] = (
            of_rows[item, row].cpu().numpy(),
            of_keys[item, key].cpu().numpy(),
        )
        sorts = partial(_sorts_and_tags, of_keys)
    uniform = uniform_baseline(tile, item, at, sorts).float().cpu().numpy()
    facts["uniform"] = uniform[:, : len(SORTS)]
    if tags is not None:
        facts["uniform_tags"] = uniform[:, len(SORTS) :]


def tags_of(tags: torch.Tensor, info: SegmentInfo) -> torch.Tensor:
    """Return the number of the part of speech of each token, `[batch, position]`; 0 where it has none."""
    # Tokens without a word have word -1, which is the last column.
    return tags[torch.arange(len(tags), device=tags.device)[:, None], info.word_ids]


def _sorts_and_tags(
    tags: torch.Tensor, tile: AttentionTile, items: torch.Tensor, positions: torch.Tensor
) -> list[torch.Tensor]:
    """Return which keys are of each of `SORTS` and of `TAGGED`; `tags` are those of all keys, `[batch, key]`."""
    tags_of_keys = tags[items]
    return [*sorts_of_keys(tile, items, positions), *(tags_of_keys == TAG_NUMBERS[tag] for tag in TAGGED)]


def shortened(outputs: torch.Tensor) -> torch.Tensor:
    """Return outputs of rows with `OUTPUT` components, `[row, OUTPUT]` float32, whatever the width of a head.

    Outputs of wider heads are projected on random orthogonal directions, which nearly preserve distances; those of
    narrower heads are padded with zeros.

    Args:
        outputs: `sum_j a_ij v_j`, `[row, width]`.
    """
    width = outputs.shape[1]
    if width > OUTPUT:
        return outputs.float() @ _random_directions(width).to(outputs.device)
    return torch.nn.functional.pad(outputs.float(), (0, OUTPUT - width))


@cache
def _random_directions(width: int) -> torch.Tensor:
    """Return random orthogonal directions, `[width, OUTPUT]`, the same in every run."""
    normal = np.random.default_rng(width).normal(size=(width, OUTPUT))
    return torch.from_numpy(np.linalg.qr(normal)[0]).float()


def _starts(words: torch.Tensor) -> torch.Tensor:
    """Return which tokens are the first of a word, `[batch, position]` bool."""
    starts = words >= 0
    starts[:, 1:] &= words[:, 1:] != words[:, :-1]
    return starts
