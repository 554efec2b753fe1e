"""The label of a document, held by one of its fields: the class that a classifier should predict."""

from headscope.corpora.document import Document
from headscope.errors import InputError
from headscope.visible import printable, shorten

_EMPTY = ("None", "nan", "NaT", "<NA>")  # how data frames write an empty cell


def check_label(document: Document, labels: str | None) -> None:
    """Raise an error if a document lacks its label.

    Args:
        document: document that was read.
        labels: name of the field with the label; None if no labels are used.

    Raises:
        InputError: it has no such field, or the field is empty; the message names the fields that it has.
    """
    if labels is None:
        return
    label = document.fields.get(labels)
    if label != "" if isinstance(label, str) else str(label) not in _EMPTY:
        return
    origin = document.origin or f"document {document.id}"
    field = shorten(printable(labels), 60)
    if labels in document.fields:
        raise InputError(f"{origin}: its label {field!r} is empty; fill it in, or leave the row out")
    named = ", ".join(shorten(printable(each), 60) for each in list(document.fields)[:8])
    raise InputError(
        f"{origin}: no label {field!r} ({f'its fields are {named}' if named else 'it has no fields'}); give a table "
        "(.csv, .tsv, .parquet) with a column of labels, or JSON entries with such a field"
    )
