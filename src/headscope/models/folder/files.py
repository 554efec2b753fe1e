"""The files of a model folder that transformers may open: regular files up to a size, wherever it searches."""

import sys
from pathlib import Path

from headscope.errors import ModelError
from headscope.models.folder.shown import shown
from headscope.storage.bounded import UnreadableFileError, check_regular

VOCABULARIES = (
    *("tokenizer.json", "vocab.txt", "vocab.json", "tokenizer.model", "spiece.model", "spm.model"),
    *("sentencepiece.model", "sentencepiece.bpe.model", "source.spm", "prophetnet.tokenizer"),
)
"""Vocabulary files; a tokenizer has at least one of them."""
READ = (
    *VOCABULARIES,
    *("merges.txt", "bpe.codes", "dict.txt", "target.spm", "target_vocab.json", "tekken.json", "tiktoken.model"),
    *("vocab-src.json", "vocab-tgt.json", "entity_vocab.json", "byte_maps.json", "normalizer.json", "emoji.json"),
    *("word_shape.json", "word_pronunciation.json", "spm_char.model"),
)
"""Files that any tokenizer class of transformers reads."""
MOST_BYTES = 128 << 20
_MOST_TEMPLATE = 4 << 20
_TEMPLATES = "additional_chat_templates"  # a folder in which transformers reads templates
_REMEDY = "take it out of the folder, or save the tokenizer again with save_pretrained"


def check_files(folder: Path) -> None:
    """Refuse a folder with a device, a FIFO or a socket, a link to one, or a tokenizer file without end.

    Raises:
        ModelError: there is such a file; names it.
    """
    for path in sorted([*folder.iterdir(), *(folder / _TEMPLATES).glob("*.jinja")]):
        try:
            check_regular(path, most=_most_bytes(path))
        except FileNotFoundError:
            pass  # a broken link counts as a missing file
        except UnreadableFileError as error:
            if not path.is_dir():
                raise ModelError(f"{shown(path)} {error.problem}; {_REMEDY}") from None


def _most_bytes(path: Path) -> int:
    if path.suffix == ".jinja":
        return _MOST_TEMPLATE
    # transformers takes any `.model` file for SentencePiece's; weights and files of other programs may have any size.
    return MOST_BYTES if path.name in READ or path.suffix == ".model" else sys.maxsize
