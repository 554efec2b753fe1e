"""The hash chain over the shards of a scan, by which a resumed run checks that the stopped run had the same shards."""

from hashlib import blake2b
from typing import NoReturn

from headscope.encoding.shards import Shard
from headscope.errors import InputError

EMPTY = ""
"""The chain of zero shards."""


def extend_chain(chain: str, shard: Shard) -> str:
    """Return the hash over the shards of a chain and the next shard: 32 hex digits."""
    return blake2b(f"{chain} {shard.digest}".encode(), digest_size=16).hexdigest()


def refuse_other_shards(number: int) -> NoReturn:
    """Raise an error because the shards of a stopped run differ from the current ones.

    Args:
        number: number of shards that the stopped run has kept.

    Raises:
        InputError: always; the message says what to do.
    """
    raise InputError(
        f"the first {number:,} shards of the text are not those of the run that was stopped; delete the "
        "folder shards of this run, and run again"
    )
