"""The package needed to read a tokenizer's files, if it is not installed: transformers often names another one."""

import re
from importlib.util import find_spec
from pathlib import Path

from headscope.errors import ModelError
from headscope.installing import how_to_install_packages
from headscope.models.folder.shown import shown

# Module -> its name for pip.
_SENTENCE_PIECE = {"sentencepiece": "sentencepiece", "google.protobuf": "protobuf"}
_TIKTOKEN = {"tiktoken": "tiktoken"}
# Packages needed by single tokenizers in Python, as their errors name them.
_OTHERS = ("fugashi", "ipadic", "unidic", "unidic_lite", "rhoknp", "sacremoses", "jieba", "rjieba", "ftfy", "emoji")
_TIKTOKEN_LINE = re.compile(rb"[A-Za-z0-9+/]+=* \d+\r?\n")


def missing_package(folder: Path, error: BaseException, *, name: str) -> ModelError | None:
    """Return an error that says what to install if a tokenizer needs a missing package; else None.

    Args:
        folder: the model folder.
        error: error of transformers.
        name: name of the model as given by the user.
    """
    if not (folder / "tokenizer.json").is_file():
        for path in sorted((*folder.glob("*.model"), *folder.glob("*.spm"))):
            needed = _TIKTOKEN if _is_tiktoken(path) else _SENTENCE_PIECE
            missing = [package for module, package in needed.items() if not _installed(module)]
            if missing:
                are = "is" if len(missing) == 1 else "are"
                return ModelError(
                    f"{shown(name)}: its tokenizer ({shown(path.name)}) is read with {' and '.join(missing)}, which "
                    f"{are} not installed; {how_to_install_packages(*missing)}, or headscope's extra `tokenizers`"
                )
    match = re.search(rf"\b({'|'.join(_OTHERS)})\b", str(error))
    if match and not _installed(match[1]):
        return ModelError(
            f"{shown(name)}: its tokenizer needs {match[1]}, which is not installed; "
            f"{how_to_install_packages(match[1].replace('_', '-'))}"
        )
    return None


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package of the module is missing
        return False


def _is_tiktoken(path: Path) -> bool:
    """Return True if a file has lines of a piece and its number, as tiktoken's files do; SentencePiece's are binary."""
    with path.open("rb") as file:
        return _TIKTOKEN_LINE.fullmatch(file.readline(4096)) is not None
