"""Unpacking gzip on the way, from any stream of bytes."""

import zlib
from collections.abc import Iterable, Iterator

from headscope.errors import InputError

CHUNK = 1 << 16  # bytes read, and at most unpacked, at a time
GZIP_MAGIC = b"\x1f\x8b"


def gunzip(chunks: Iterable[bytes], *, name: str) -> Iterator[bytes]:
    """Yield the unpacked bytes, none empty and at most 64 KiB at a time, whatever a chunk unpacks to.

    `gzip.GzipFile` needs a stream that can be read from its start; a pipe whose first bytes were looked at
    has none. Several members in a row and zeros after the last are as good as one.

    Raises:
        InputError: data that is broken or ends too early; `name` is what the error calls the file.
    """
    member = zlib.decompressobj(wbits=31)
    try:
        for chunk in chunks:
            while chunk:
                if member.eof:
                    if not (chunk := chunk.lstrip(b"\0")):
                        break
                    member = zlib.decompressobj(wbits=31)
                if data := member.decompress(chunk, CHUNK):
                    yield data
                chunk = member.unconsumed_tail or member.unused_data
    except zlib.error:
        raise InputError(
            f"{name} is broken: its gzip data cannot be unpacked; make or fetch it again"
        ) from None
    if not member.eof:
        raise InputError(f"{name} is broken: its gzip data ends too early; make or fetch it again")
