"""The tokens, or words, of the rows and columns of saved maps."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from headscope.attention.words.word_attention import word_axis
from headscope.encoding.segment import NO_WORD, Segment, SegmentInfo
from headscope.encoding.vocabulary import KeyClass
from headscope.maps.index import MapEntry, Tokens


def rows_of(side: Tokens, *, by_word: bool) -> Tokens:
    """Return the tokens of a map's rows: the tokens themselves, or their words."""
    if not by_word:
        return side
    word_ids = torch.tensor([side.word_ids])
    axis = word_axis(word_ids, torch.ones_like(word_ids, dtype=torch.bool))
    leaders: list[int] = axis.leaders[0].tolist()
    sizes: list[int] = torch.bincount(axis.places[0], minlength=len(leaders)).tolist()
    return Tokens(
        tokens=[side.tokens[first] for first in leaders],
        ids=[side.ids[first] for first in leaders],
        classes=[side.classes[first] if n == 1 else KeyClass.OTHER for first, n in zip(leaders, sizes)],
        word_ids=[side.word_ids[first] for first in leaders],
    )


def segment_of(entry: MapEntry, rows: Tokens) -> Segment:
    """Return the segment with these rows."""
    types = np.zeros(len(rows), dtype=np.int64)
    if len(entry.token_types) == len(rows):
        types[:] = entry.token_types
    return Segment(
        document=entry.document,
        index=entry.index,
        ids=np.array(rows.ids, dtype=np.int64),
        token_types=types,
        word_ids=np.array(rows.word_ids, dtype=np.int64),
        words=tuple(entry.words),
        shortened=entry.shortened,
        fields=entry.fields,
    )


def padded(rows: Sequence[Any], fill: int) -> torch.Tensor:
    """Stack rows of numbers, padded on the right."""
    table = torch.full((len(rows), max(map(len, rows))), fill)
    for line, values in zip(table, rows):
        line[: len(values)] = torch.as_tensor(values)
    return table


def info_of(segments: Sequence[Segment], classes: Sequence[list[int]], word_ids: Sequence[list[int]]) -> SegmentInfo:
    """Return the data of a padded batch, with classes and words as they were saved."""
    valid = padded([np.ones(len(segment)) for segment in segments], 0).bool()
    of_class = padded(classes, KeyClass.OTHER)
    return SegmentInfo(
        ids=padded([segment.ids for segment in segments], 0),
        classes=of_class,
        word_ids=padded(word_ids, NO_WORD),
        valid=valid,
        lengths=valid.sum(1),
        documents=tuple(segment.document for segment in segments),
        indices=tuple(segment.index for segment in segments),
        rows_per_class=torch.stack([((of_class == c) & valid).sum(1) for c in KeyClass], dim=1),
    )
