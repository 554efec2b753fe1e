"""Words as a line of text, with spaces as a reader of their script expects them."""

from __future__ import annotations

import re
from collections.abc import Sequence

_BEFORE = re.compile(r" (?=[.,;:!?)\]}%…]|['’]\w|n['’]t\b)")
_AFTER = re.compile(r"(?<=[(\[{]) ")
# Han, kana, the marks and the wide forms that go with them, Thai, Lao, Burmese, Khmer: written without spaces. Korean
# has them.
_WITHOUT = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u312f\u31a0-\u9fff\uf900-\ufaff\uff00-\uff9f\U00020000-\U0003ffff"
)
_SHARED = "\u2014\u2018\u2019\u201c\u201d\u2026"  # marks that other scripts have too
_UNSPACED = re.compile(rf"(?<=[{_WITHOUT}]) (?=[{_WITHOUT}{_SHARED}])|(?<=[{_SHARED}]) (?=[{_WITHOUT}])")


def joined(words: Sequence[str]) -> str:
    """Write words as a line of text, without the spaces that a treebank puts before punctuation.

    Chinese, Japanese, Thai and what else is written without spaces has none between its words, nor around its marks.
    """
    return _AFTER.sub("", _BEFORE.sub("", _UNSPACED.sub("", " ".join(words))))
