"""Which package a tokenizer's files are read with, where it is not installed: transformers often names another."""

import re
from importlib.util import find_spec
from pathlib import Path

from headscope.errors import ModelError
from headscope.installing import how_to_install_packages
from headscope.models.folder.shown import shown

# Module -> what pip calls it.
_SENTENCE_PIECE = {"sentencepiece": "sentencepiece", "google.protobuf": "protobuf"}
_TIKTOKEN = {"tiktoken": "tiktoken"}
# What single tokenizers in Python ask for, as their errors name it.
_OTHERS = ("fugashi", "ipadic", "unidic", "unidic_lite", "rhoknp", "sacremoses", "jieba", "rjieba", "ftfy", "emoji")
_TIKTOKEN_LINE = re.compile(rb"[A-Za-z0-9+/]+=* \d+\r?\n")


def missing_package(folder: Path, error: BaseException, *, name: str) -> ModelError | None:
    """Return what to install, where a tokenizer could not be read for want of a package; else None.

    Args:
        folder: the model folder.
        error: what transformers raised.
        name: how the user calls the model.
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
    except ModuleNotFoundError:  # the package that the module lies in
        return False


def _is_tiktoken(path: Path) -> bool:
    """Whether a file has lines of a piece and its number, as tiktoken's; SentencePiece's is binary."""
    with path.open("rb") as file:
        return _TIKTOKEN_LINE.fullmatch(file.readline(4096)) is not None
