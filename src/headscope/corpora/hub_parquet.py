"""Conversion of the hub's Parquet files into the plain files that the readers take: CoNLL-U and text."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from headscope.corpora.mentions.brackets import printable
from headscope.errors import InputError
from headscope.storage.lock import placed
from headscope.visible import shown

# Lists with one entry per word; CoNLL-U has _ in columns that a file lacks.
_WORD_COLUMNS = ("tokens", "lemmas", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_NEEDED = ("tokens", "head", "deprel")
_NODE_FIELDS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_TOKEN_FIELDS = ("id", "form", "-", "-", "-", "feats", "-", "-", "-", "misc")  # the columns of a multi-word token
# Earlier exports of the same data store tags as numbers, in this order.
_UPOS = (
    "NOUN", "PUNCT", "ADP", "NUM", "SYM", "SCONJ", "ADJ", "PART", "DET", "CCONJ", "PROPN", "PRON", "X", "_",
    "ADV", "INTJ", "VERB", "AUX",
)  # fmt: skip
_ROWS = 512  # rows in memory at once
_PATIENCE = 600.0  # seconds to wait for another run that is writing the same file
_MOST_NAMED = 30  # columns that an error lists
_ANOTHER = "the data are broken: try another @revision, or give a local file"


def parquet_to_conllu(source: Path, target: Path, *, name: str) -> None:
    """Write a treebank's Parquet file as CoNLL-U, completely or not at all.

    Args:
        source: file with one row per sentence: lists `tokens lemmas upos xpos feats head deprel deps misc`, and
            optionally `sent_id`, `text`, `comments`, `mwt` (multi-word tokens), `empty_nodes`.
        target: path of the new file; its folder is made.
        name: name of the treebank in errors.

    Raises:
        InputError: the file is not Parquet, lacks a column, or has a row that CoNLL-U cannot represent.
    """
    rows = _rows(source, needed=_NEEDED, name=name)
    _write(target, (conllu_sentence(row, where=f"{name}, row {n}") + "\n" for n, row in enumerate(rows, 1)))


def parquet_to_text(source: Path, target: Path, *, name: str) -> None:
    """Write WikiText's Parquet file as text: one paragraph per line, a blank line between articles.

    Args:
        source: file with one row per line of the original, in the column `text`.
        target, name: as in `parquet_to_conllu`.

    Raises:
        InputError: the file is not Parquet, lacks the column, or has values other than text in it.
    """
    rows = _rows(source, needed=("text",), name=name)
    lines = (_line(row["text"], where=f"{name}, row {n}") for n, row in enumerate(rows, 1))
    articles = wikitext_articles(lines)
    _write(target, ("\n".join(article) + "\n\n" for article in articles))


def _line(text: Any, *, where: str) -> str:
    if text is not None and not isinstance(text, str):
        raise InputError(f"{where}: expected text, found {printable(repr(text))}; {_ANOTHER}")
    return text or ""


def conllu_sentence(row: Mapping[str, Any], *, where: str) -> str:
    """Return a sentence's row as lines of CoNLL-U, each with its line end.

    Raises:
        InputError: tokens are missing, a column has another type, lists differ in length, the id of a multi-word token
            or empty node is malformed, or a field contains a tab or line end.
    """
    try:
        return "".join(f"{line}\n" for line in _conllu_lines(row))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{where} is not a sentence that CoNLL-U can hold ({shown(error)}); {_ANOTHER}") from None


def _conllu_lines(row: Mapping[str, Any]) -> list[str]:
    columns = {name: row.get(name) for name in (*_WORD_COLUMNS, "mwt", "empty_nodes", "comments")}
    if others := [name for name, values in columns.items() if not isinstance(values, list | None)]:
        raise ValueError(f"{others[0]} is not a list")
    count = len(row["tokens"] or ())
    words = zip(*(columns[name] or [None] * count for name in _WORD_COLUMNS), strict=True)
    table: list[tuple[tuple[int, ...], list[Any]]] = [((n, 1), [n, *fields]) for n, fields in enumerate(words, 1)]
    if not table:
        raise ValueError("no tokens")
    # A multi-word token precedes its first word, an empty node (8.1) follows the word it is counted from.
    for token in columns["mwt"] or []:
        first, _ = map(int, token["id"].split("-"))
        table.append(((first, 0), [token.get(field) for field in _TOKEN_FIELDS]))
    for node in columns["empty_nodes"] or []:
        word, nth = map(int, node["id"].split("."))
        table.append(((word, 2, nth), [node.get(field) for field in _NODE_FIELDS]))
    lines = [f"# {comment}" for comment in _comments(row, columns["comments"] or [])]
    for _, fields in sorted(table, key=lambda entry: entry[0]):
        if isinstance(fields[3], int):
            fields[3] = _UPOS[fields[3]] if 0 <= fields[3] < len(_UPOS) else "_"
        lines.append("\t".join("_" if value is None or value == "" else str(value) for value in fields))
        if lines[-1].count("\t") != len(_NODE_FIELDS) - 1:
            raise ValueError("a tab inside a field")
    if any("\n" in line or "\r" in line for line in lines):
        raise ValueError("a line end inside a field")
    return lines


def wikitext_articles(lines: Iterable[str]) -> Iterator[list[str]]:
    """Yield the paragraphs of each article, from the lines of WikiText.

    A heading is ` = Title = ` (an article begins) or ` = = Section = = ` with blank lines around it; without them it is
    a formula. Headings are left out, and ` @-@ `, ` @,@ ` and ` @.@ ` are replaced by `-`, `,`, `.`.
    """
    article: list[str] = []
    before = ""
    for line, after in pairwise(chain((line.strip() for line in lines), [""])):
        heading = line.startswith("= ") and line.endswith(" =") and not before and not after
        if heading and not line.startswith("= = "):
            if article:
                yield article
            article = []
        elif line and not heading:
            article.append(re.sub(r" @([-,.])@ ", r"\1", line))
        before = line
    if article:
        yield article


def _comments(row: Mapping[str, Any], comments: list[Any]) -> Iterator[str]:
    """Yield the comment lines without their #; two are stored in columns of their own, with a mark in their place."""
    marks = {"__SENT_ID__": ("sent_id", row.get("sent_id") or row.get("idx")), "__TEXT__": ("text", row.get("text"))}
    for mark in [mark for mark in marks if mark not in comments] + comments:
        if mark not in marks:
            yield mark
        elif marks[mark][1]:
            yield f"{marks[mark][0]} = {marks[mark][1]}"


def _rows(source: Path, *, needed: Sequence[str], name: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a Parquet file as dicts."""
    import pyarrow
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(source) as file:
            columns = file.schema_arrow.names
            if missing := [column for column in needed if column not in columns]:
                came = ", ".join(printable(column) for column in columns[:_MOST_NAMED])
                raise InputError(
                    f"{name}: expected the columns {', '.join(needed)}, found {came} (no "
                    f"{', '.join(missing)}); try another @revision, or give a local file"
                )
            for batch in file.iter_batches(batch_size=_ROWS):
                yield from batch.to_pylist()
    except (pyarrow.ArrowException, UnicodeDecodeError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # an error of the file system, not of the decoder
            raise
        raise InputError(f"{name}: what was fetched is not a whole Parquet file; {_ANOTHER}") from error


def _write(target: Path, pieces: Iterable[str]) -> None:
    with placed(target, replace=True, wait=_PATIENCE) as part, part.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(pieces)
