"""The demonstration's corpora, which are part of the embedded model's package, so that a first report needs no file."""

from pathlib import Path

from headscope.errors import InputError
from headscope.installing import embedded_package, how_to_install


def demo_text() -> Path:
    """Return the path of the demonstration text: short English documents, for `read_corpus`.

    Raises:
        InputError: the package with the demonstration is not installed.
    """
    return _file("demo_text", "text", instead="--text")


def demo_treebank() -> Path:
    """Return the path of the demonstration's treebank: generated English documents with trees and mentions.

    Raises:
        InputError: the package with the demonstration is not installed.
    """
    return _file("demo_treebank", "treebank", instead="--treebank (--coref for mentions)")


def _file(name: str, corpus: str, *, instead: str) -> Path:
    try:
        return Path(getattr(embedded_package(), name)())
    # An earlier version of the package has only the model.
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"no {corpus} was given and the demonstration's is not installed; {how_to_install('demo')}, "
            f"or give {instead}"
        ) from error
