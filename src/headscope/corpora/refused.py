"""Files that are not text, recognized by their first bytes, and advice for each: one row per kind."""

from dataclasses import dataclass

LONGEST = 16
"""Number of first bytes of a file that identify its kind."""


@dataclass(frozen=True)
class Kind:
    """A kind of file that no reader of text accepts.

    Attributes:
        name: name in messages.
        begins: first bytes of such files, one of several variants.
        instead: what to do.
        at: further bytes and their offset, for kinds with the same first bytes.
    """

    name: str
    begins: tuple[bytes, ...]
    instead: str
    at: tuple[int, bytes] | None = None


_IMAGE = "headscope reads text; give the words that it shows as a text file"
KINDS = (
    Kind("a PDF", (b"%PDF-",), "save its text first, for example with pdftotext FILE.pdf FILE.txt"),
    Kind("an image (PNG)", (b"\x89PNG",), _IMAGE),
    Kind("an image (JPEG)", (b"\xff\xd8\xff",), _IMAGE),
    Kind("an image (GIF)", (b"GIF87a", b"GIF89a"), _IMAGE),
    Kind("an image (TIFF)", (b"II*\0", b"MM\0*"), _IMAGE),
    Kind("an image (WebP)", (b"RIFF",), _IMAGE, at=(8, b"WEBP")),
    Kind(
        "a Parquet table",
        (b"PAR1\x15",),
        "name it FILE.parquet, give it as text, and say with --column which column holds the text",
    ),
    Kind(
        "a zip archive, or a document of an office program (.docx, .xlsx, .odt)",
        (b"PK\x03\x04",),
        "unpack it, or save it as plain text (.txt) or as a table (.csv)",
    ),
    Kind(
        "a document of an office program (.doc, .xls)",
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",),
        "save it as plain text (.txt) or as a table (.csv)",
    ),
)


def what_it_is(head: bytes) -> Kind | None:
    """Return the kind of a file with these first bytes, or None if it may be text.

    Args:
        head: first bytes of the file, `LONGEST` of them if it has that many.
    """
    for kind in KINDS:
        there = kind.at is None or head[kind.at[0] :].startswith(kind.at[1])
        if head.startswith(kind.begins) and there:
            return kind
    return None
