"""A treebank of our own: generated English documents with exact trees and coreference."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from headscope.corpora.annotation import AnnotatedDocument
from headscope.errors import OptionError, OutputError
from headscope_grammar.conllu import document_lines
from headscope_grammar.documents import write

DEMO_DOCUMENTS = 250
"""Documents of the demonstration's treebank, whose seed is 0."""


def synthetic_documents(number: int, *, seed: int = 0) -> Iterator[AnnotatedDocument]:
    """Return generated English documents of 3 to 8 sentences, each of 3 to 40 words.

    Trees follow the English Universal Dependencies guidelines; mentions are those of people, animals, things
    and places, singletons included. Document i depends on the seed and i only.

    Args:
        number: how many documents.
        seed: another seed gives other documents.

    Raises:
        OptionError: a number under 1.
    """
    if number < 1:
        raise OptionError(f"expected 1 document or more, found {number}; ask for a positive number")
    return (write(seed=seed, ordinal=ordinal).document for ordinal in range(number))


def conllu_lines(document: AnnotatedDocument) -> Iterator[str]:
    """Yield a document as lines of CoNLL-U, without line ends; a blank line ends each sentence.

    Columns: the word's number, the word, its universal tag, its head, its relation, and in the last one
    `SpaceAfter=No` and `Entity=` with the brackets of the mentions that begin or end there: `(e1`, `e1)`, `(e1)`.
    Every sentence needs a tree.
    """
    return document_lines(document)


def write_conllu(documents: Iterable[AnnotatedDocument], path: str | Path) -> None:
    """Write documents to a CoNLL-U file (`conllu_lines`), one held at a time.

    Raises:
        OutputError: a file that cannot be written.
    """
    try:
        with Path(path).open("w", encoding="utf-8", newline="\n") as file:
            for document in documents:
                file.writelines(f"{line}\n" for line in conllu_lines(document))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise OutputError(f"{path} cannot be written ({reason}); give a file in a folder that exists") from None
