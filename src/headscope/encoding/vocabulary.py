"""The class of a token id: [CLS], [SEP], a period or comma, other punctuation, or anything else.

Classes depend on token ids and the tokenizer's own attributes, never on the strings `[CLS]` and `[SEP]`.
"""

import unicodedata
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.encoding.tokenizer.token_names import named_special, piece_bytes, piece_text


class KeyClass(IntEnum):
    """The class of a token as a key; every token has exactly one."""

    OTHER = 0
    CLS = 1
    SEP = 2
    PERIOD_COMMA = 3
    OTHER_PUNCTUATION = 4


@dataclass(frozen=True)
class Vocabulary:
    """The class of every token id, and the names of the special tokens in reports.

    Attributes:
        classes: `KeyClass` of each id, `[vocabulary]` uint8.
        has_cls: whether the tokenizer adds a `cls` token. If it does not (GPT-2, T5), the first
            position of a decoder takes its role.
        cls_name: text of the `cls` token; `first token` if there is none.
        sep_name: text of the `sep` token, or None if there is none.
        pad_id: id of padding; any id will do, since padding changes no number.
    """

    classes: NDArray[np.uint8]
    has_cls: bool
    cls_name: str
    sep_name: str | None
    pad_id: int

    def of(self, ids: NDArray[np.int64], *, decoder: bool = False) -> NDArray[np.uint8]:
        """Return the class of each token of one segment read by an encoder or a decoder, `[token]`."""
        # A model may have rows of embeddings beyond its tokenizer's last id, and generate them.
        known = ids < len(self.classes)
        of_known = self.classes[np.where(known, ids, 0)]
        classes: NDArray[np.uint8] = np.where(known, of_known, KeyClass.OTHER).astype(np.uint8)
        if decoder and not self.has_cls and len(classes):
            classes[0] = KeyClass.CLS
        return classes

    @property
    def special_names(self) -> tuple[str, str]:
        """Names of the tokens before and after the words in examples."""
        return named_special(self.cls_name, self.sep_name)


def punctuation_class(text: str) -> KeyClass:
    """Return the class of a token from its text: `.` and `,`, other punctuation, or neither.

    Args:
        text: text as `piece_text` returns it: empty for a piece of a character, which is neither.
    """
    text = text.lstrip(" ")
    if text in (".", ","):
        return KeyClass.PERIOD_COMMA
    if text and all(unicodedata.category(letter)[0] == "P" for letter in text):
        return KeyClass.OTHER_PUNCTUATION
    return KeyClass.OTHER


def read_vocabulary(tokenizer: Any) -> Vocabulary:
    """Read the classes from a transformers tokenizer.

    `cls` is the tokenizer's cls token, else its bos; `sep` its sep, else its eos; each counts only if the tokenizer
    really adds it to a text. A token is punctuation if its text is exactly `.` or `,`, and other punctuation if all its
    characters are in Unicode's categories P. A token that is a piece of a character is neither.
    """
    added = set(tokenizer("a")["input_ids"]) - set(tokenizer("a", add_special_tokens=False)["input_ids"])

    def special(*names: str) -> int | None:
        # A token that is defined but never added, as in borrowed vocabularies, does not count.
        candidates = (getattr(tokenizer, name, None) for name in names)
        return next((int(token) for token in candidates if token is not None and token in added), None)

    tokens = tokenizer.get_vocab()
    classes = np.zeros(max(tokens.values(), default=0) + 1, dtype=np.uint8)
    for piece, index in zip(piece_bytes(list(tokens)), tokens.values(), strict=True):
        classes[index] = punctuation_class(piece_text(piece))
    sep = special("sep_token_id", "eos_token_id")
    if sep is not None:
        classes[sep] = KeyClass.SEP
    cls = special("cls_token_id", "bos_token_id")
    if cls is not None:
        classes[cls] = KeyClass.CLS
    pad = tokenizer.pad_token_id
    return Vocabulary(
        classes=classes,
        has_cls=cls is not None,
        cls_name=str(tokenizer.convert_ids_to_tokens(cls)) if cls is not None else "first token",
        sep_name=str(tokenizer.convert_ids_to_tokens(sep)) if sep is not None else None,
        pad_id=int(pad) if pad is not None else 0,
    )
