"""The demonstration's corpora, which come with the embedded model, so that a first report needs no file."""

from pathlib import Path

from headscope.errors import InputError
from headscope.installing import how_to_install


def demo_text() -> Path:
    """Return the path of the demonstration text: short English documents, for `read_text`.

    Raises:
        InputError: the package that holds it is not installed.
    """
    try:
        # An earlier version of the package has the model alone.
        from headscope_minilm import demo_text as text
    except ImportError as error:
        raise InputError(
            f"no text was given and the demonstration's is not installed; {how_to_install('demo')}, or give --text"
        ) from error
    return text()


def demo_treebank() -> Path:
    """Return the path of the demonstration's treebank: generated English documents with trees and mentions.

    Raises:
        InputError: the package that holds it is not installed.
    """
    try:
        from headscope_minilm import demo_treebank as treebank
    except ImportError as error:
        raise InputError(
            "no treebank was given and the demonstration's is not installed; "
            f"{how_to_install('demo')}, or give --treebank (--coref for mentions)"
        ) from error
    return treebank()
