"""Vectors of words out of context, for probes that see which words they score."""

import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, takewhile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.corpora.files import open_text, split_lines
from headscope.corpora.opening import source_name
from headscope.corpora.trees.tree import shown
from headscope.encoding.encoder import Encoder
from headscope.errors import InputError
from headscope.models.load_model import LoadedModel

EXPECTED_VECTORS = "a word and its numbers on each line (the 0.418 0.24968 ...), as GloVe and word2vec write text"
_MOST_NUMBERS = 100_000  # numbers in a line; a file with more is not a file of word vectors


@dataclass(frozen=True, eq=False)
class WordVectors:
    """A vector for every word, under a name that tables show.

    A word without a vector has zeros: a probe then falls back to its biases, which hold for words in general.

    Attributes:
        name: the file's name, without its folder, or `input embeddings of NAME`.
        width: number of components of a vector.
        vector: returns the vector of a word; None if it has none.
    """

    name: str
    width: int
    vector: Callable[[str], NDArray[np.float32] | None]

    def of(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of words, `[word, width]`."""
        out = np.zeros((len(words), self.width), dtype=np.float32)
        for row, word in zip(out, words, strict=True):
            vector = self.vector(word)
            if vector is not None:
                row[:] = vector
        return out


def read_vectors(path: str | Path, wanted: Collection[str] | None = None, *, sha256: str | None = None) -> WordVectors:
    """Read a text file of word vectors, as GloVe and word2vec write them, packed with gzip or not.

    word2vec's first line (number of words, width) is recognized. A word may contain spaces, as some of GloVe's do: the
    vector is at the end of a line. If a word occurs twice, its first vector is used. A word that is not in the file has
    the vector of its lower-cased form.

    Args:
        path: the file; it is read once, line by line, and only the wanted words are kept.
        wanted: words whose vectors are needed; all words of the file when None.
        sha256: hash of the file when it was first checked; not compared when None.

    Raises:
        InputError: the file cannot be read (`files.open_text`), a line is not a word and its numbers, there are fewer
            lines than word2vec's first line promises, no wanted word is found, or the file's hash is not `sha256`.
    """
    name = source_name(path)
    keep = None if wanted is None else frozenset(chain(wanted, (word.lower() for word in wanted)))
    vectors: dict[str, NDArray[np.float32]] = {}
    read = hashlib.sha256()
    for number, word, fields in _lines(path, name, read.update):
        if word not in vectors and (keep is None or word in keep):
            vectors[word] = _vector(fields, word, f"{name}, line {number}")
    if sha256 not in (None, read.hexdigest()):
        raise InputError(
            f"{name} changed while it was read: it is not the file that the run began with; run again when nothing "
            "writes to it"
        )
    if not vectors:
        number = len(keep or ())
        raise InputError(
            f"{name} has a vector for none of the corpus's {number:,} words; expected word vectors of its language"
        )
    width = len(next(iter(vectors.values())))
    return WordVectors(Path(path).name, width, lambda word: vectors.get(word, vectors.get(word.lower())))


def _lines(path: str | Path, name: str, on_bytes: Callable[[bytes], object]) -> Iterator[tuple[int, str, list[str]]]:
    """Yield (line number, word, its numbers as text); every line has as many numbers as the first."""
    lines: Iterator[tuple[int, str]] = enumerate(
        split_lines(open_text(path, expected=EXPECTED_VECTORS, on_bytes=on_bytes), name=name), 1
    )
    number, first = next(lines)
    first = _tidy(first)
    promised: int | None = None
    if (header := first.split(" ")) and len(header) == 2 and all(map(_is_count, header)):
        promised, width = int(header[0]), int(header[1])
    else:
        width = _trailing_numbers(first)
        lines = chain([(number, first)], lines)
    if not 0 < width <= _MOST_NUMBERS:
        raise InputError(f"{name}, line 1: expected {EXPECTED_VECTORS}; found {shown(first)}")
    vectors = 0
    for number, line in lines:
        word, *fields = _tidy(line).rsplit(" ", width)
        if len(fields) < width or (" " in word and _is_number(word.rsplit(" ", 1)[1])):
            came = _trailing_numbers(_tidy(line))
            raise InputError(
                f"{name}, line {number}: expected a word and {width:,} numbers, found {came:,} "
                f"number{'' if came == 1 else 's'}; make or fetch the file again"
            )
        vectors += 1
        yield number, word, fields
    if promised is not None and vectors < promised:
        raise InputError(
            f"{name} ends too early: its first line promises {promised:,} vectors, and {vectors:,} came; make or fetch "
            "it again"
        )


def _tidy(line: str) -> str:
    # word2vec writes a space after the last number; other white space may be part of a word.
    line = line.replace("\t", " ").rstrip(" ")
    while "  " in line:
        line = line.replace("  ", " ")
    return line


def _trailing_numbers(line: str) -> int:
    """Count the numbers at the end of a line; its first field is always a word."""
    return sum(1 for _ in takewhile(_is_number, reversed(line.split(" ")[1:])))


def _is_count(text: str) -> bool:
    return text.isdecimal() and len(text) < 16  # int() raises an error for thousands of digits


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _vector(fields: list[str], word: str, origin: str) -> NDArray[np.float32]:
    try:
        with np.errstate(over="ignore"):  # a number too large for float32 is infinite, which is rejected below
            vector = np.array([float(each) for each in fields], dtype=np.float32)
    except ValueError:
        wrong = next(each for each in fields if not _is_number(each))
        raise InputError(
            f"{origin}: expected {len(fields):,} numbers after {shown(word)}, found {shown(wrong)} among them; make or "
            "fetch the file again"
        ) from None
    if not np.isfinite(vector).all():
        raise InputError(
            f"{origin}: the vector of {shown(word)} holds a number that is NaN or infinite; expected finite numbers, "
            "make or fetch the file again"
        )
    return vector


def input_embeddings(loaded: LoadedModel, encoder: Encoder) -> WordVectors:
    """Return the input embeddings of a model as word vectors: the mean over a word's pieces.

    Words are tokenized as inside a sentence (after another word). A word for which the tokenizer returns no token has
    none.

    Args:
        loaded: the model.
        encoder: wrapper of its tokenizer.
    """
    model: Any = loaded.model
    table: NDArray[np.float32] = model.get_input_embeddings().weight.detach().cpu().float().numpy()

    def vector(word: str) -> NDArray[np.float32] | None:
        encoding, alignment = encoder.piece_words(("a", word))
        pieces = np.array(encoding.ids, dtype=np.int64)[alignment.word_ids == 1]
        return table[pieces].mean(0) if len(pieces) else None

    return WordVectors(f"input embeddings of {loaded.name}", table.shape[1], vector)
