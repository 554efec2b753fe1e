"""Words joined to a line of text, with spaces as readers of their script expect them."""

from __future__ import annotations

import re
from collections.abc import Sequence

_BEFORE = re.compile(r" (?=[.,;:!?)\]}%…]|['’]\w|n['’]t\b)")
_AFTER = re.compile(r"(?<=[(\[{]) ")
# Han, kana, their marks and wide forms, Thai, Lao, Burmese, Khmer: scripts without spaces between words. Korean has
# spaces.
_WITHOUT = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u312f\u31a0-\u9fff\uf900-\ufaff\uff00-\uff9f\U00020000-\U0003ffff"
)
_SHARED = "\u2014\u2018\u2019\u201c\u201d\u2026"  # marks that other scripts use too
_UNSPACED = re.compile(rf"(?<=[{_WITHOUT}]) (?=[{_WITHOUT}{_SHARED}])|(?<=[{_SHARED}]) (?=[{_WITHOUT}])")


def joined(words: Sequence[str]) -> str:
    """Join words to a line of text, without a treebank's spaces before punctuation.

    Chinese, Japanese, Thai and other scripts without spaces have none between their words, nor around their marks.
    """
    return _AFTER.sub("", _BEFORE.sub("", _UNSPACED.sub("", " ".join(words))))
