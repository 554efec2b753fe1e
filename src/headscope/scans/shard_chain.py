"""The hash chain over the shards of a scan: a run that goes on compares it with that of the run that was stopped."""

from hashlib import blake2b
from typing import NoReturn

from headscope.encoding.shards import Shard
from headscope.errors import InputError

EMPTY = ""
"""The chain of no shard."""


def extend_chain(chain: str, shard: Shard) -> str:
    """Return the hash over the shards of a chain and the next shard: 32 hex digits."""
    return blake2b(f"{chain} {shard.digest}".encode(), digest_size=16).hexdigest()


def refuse_other_shards(number: int) -> NoReturn:
    """Refuse to go on with a stopped run whose shards are others.

    Args:
        number: of shards that the stopped run has kept.

    Raises:
        InputError: always; says what to do.
    """
    raise InputError(
        f"the first {number:,} shards of the text are not those of the run that was stopped; delete the "
        "folder shards of this run, and run again"
    )
