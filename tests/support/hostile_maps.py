"""Every damaged or hostile folder of saved maps, for tests and fuzzing."""

from collections.abc import Iterator

from support.hostile import Case
from support.hostile_index import index_files, index_parts, index_values, masks
from support.hostile_rows import rows
from support.hostile_shards import shards


def folders() -> Iterator[Case]:
    """Yield every damaged folder that all readers of maps must refuse."""
    for cases in (index_parts, index_values, index_files, masks, shards, rows):
        yield from cases()
