"""The facts kept of a row in which a head is active: where it looks, at what, what it writes."""

from collections.abc import Mapping
from functools import cache, partial

import numpy as np
import torch

from headscope.analyses.distribution.row_tokens import ids_around, strongest_keys
from headscope.analyses.jobs.uniform_baseline import SORTS, Sorts, sorts_of_keys, uniform_baseline
from headscope.attention.tile import AttentionTile
from headscope.corpora.trees.universal_tags import TAGS
from headscope.encoding.segment import SegmentInfo
from headscope.encoding.sending import sent
from headscope.statistics.sums.head_row_sample import HEAD_ROW
from headscope.statistics.sums.row_selection import SelectedRows

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
    [*ACTIVE_ROW.descr, ("row_tag", np.uint8), ("key_tag", np.uint8), ("uniform_tags", np.float32, len(TAGGED))]
)
"""A row of a treebank, which also has the numbers of the parts of speech of row and key, 0 for none, and the share of
each of `TAGGED` among the keys that it can attend to."""


def facts_of(tile: AttentionTile, rows: SelectedRows, *, tags: torch.Tensor | None = None) -> dict[str, torch.Tensor]:
    """Return the facts of rows, by the names of `ACTIVE_ROW`, or of `TAGGED_ROW` where there are tags.

    Args:
        tile: the tile.
        rows: of the tile.
        tags: number of the part of speech of each word of the batch, `[batch, word]`; the last column is 0, for
            tokens without a word.
    """
    item, head, at, row = rows.item, rows.head, rows.at, rows.at + tile.start
    queries, keys = tile.queries, tile.keys
    # Sinks and separators are left out.
    weight, key = strongest_keys(tile, item, head, at, keys=keys.content)
    facts = {
        "weight": weight.float(),
        "key": keys.positions[item, key],
        "key_id": keys.ids[item, key],
        "row_class": queries.classes[item, row],
        "key_class": keys.classes[item, key],
        "row_starts": queries.starts_word[item, row],
        "key_starts": keys.starts_word[item, key],
        "ids": ids_around(queries, item, row, before=BEFORE, after=AFTER),
    }
    if tile.square:
        facts["after_copy"] = _after_copy(queries, item, row, key)
    if tile.vectors is None:
        facts["output"] = torch.full((len(item), OUTPUT), torch.nan, device=item.device)
    else:
        facts["output"] = shortened(tile.vectors.outputs[item, head, at])
    sorts: Sorts = sorts_of_keys
    if tags is not None:
        of_rows, of_keys = (tags_of(sent(tags, item.device), info) for info in (queries, keys))
        facts["row_tag"], facts["key_tag"] = of_rows[item, row], of_keys[item, key]
        sorts = partial(_sorts_and_tags, of_keys)
    uniform = uniform_baseline(tile, item, at, sorts).float()
    facts["uniform"] = uniform[:, : len(SORTS)]
    if tags is not None:
        facts["uniform_tags"] = uniform[:, len(SORTS) :]
    return facts


def _after_copy(tokens: SegmentInfo, item: torch.Tensor, row: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    """Return whether each key stands right after an earlier copy of its row's token, `[row]`, in square tiles."""
    before = (key - 1).clamp(min=0)
    copy = (tokens.ids[item, before] == tokens.ids[item, row]) & tokens.valid[item, before]
    return copy & (key > 0) & (key < row)


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
        return outputs.float() @ sent(_random_directions(width), outputs.device)
    return torch.nn.functional.pad(outputs.float(), (0, OUTPUT - width))


@cache
def _random_directions(width: int) -> torch.Tensor:
    """Return random orthogonal directions, `[width, OUTPUT]`, the same in every run."""
    normal = np.random.default_rng(width).normal(size=(width, OUTPUT))
    return torch.from_numpy(np.linalg.qr(normal)[0]).float()
