"""Limits on tokenizers: the length of a text after normalizing and decoding, and the time that tokenizing takes."""

import base64
import json
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from tokenizers import Tokenizer

from headscope.errors import InputError, ModelError

MOST_LETTERS, MOST_GROWTH = 1 << 20, 256
"""Maximum characters of a text after each step of normalizing: an absolute number, or a multiple of a long text's
length; the largest multiple in Unicode is 18."""
MOST_DECODED = 1000
"""Maximum characters that a decoder may make of one."""
SECONDS, LETTERS_A_SECOND = 60.0, 10_000
"""Maximum time to tokenize a text: a minute, or longer for a long one; tokenizers cut a million characters a second."""
_CHUNK = 256  # characters that are normalized between two checks of the clock
_SHORT = 1000
"""Length up to which any tokenizer is fast, in characters, unless its file has regular expressions or many steps."""
MOST_STEPS = 32
MOST_AROUND = 1000
"""Maximum number of special tokens and texts that a template may put around a text."""
_AGAIN = "use the tokenizer that the model was trained with, as save_pretrained writes it"
_GROWTH = {"Lowercase": 3, "NFC": 3, "NFD": 4, "NFKC": 18, "NFKD": 18, "BertNormalizer": 4, "ByteLevel": 4, "Nmt": 1}
_MOST_BYTE_LEVELS = 4
_READ_AT_ONCE = ("a", "b")  # by code that loads a tokenizer, to see its output
Result = TypeVar("Result")


class Normalizing:
    """The steps of a tokenizer's normalizer, each with the number of characters that it may make of one.

    Args:
        definition: content of tokenizer.json.
    """

    def __init__(self, definition: Mapping[str, Any]) -> None:
        self.steps = [(step, _growth(step)) for step in _flat(definition.get("normalizer"), "normalizers")]

    def check(self, text: str) -> None:
        """Raise an error if the normalizer makes far more characters of a text than any real text has.

        Raises:
            ModelError: the result is too long; gives the limit and the length of the text.
        """
        most, longest = max(MOST_LETTERS, MOST_GROWTH * len(text)), len(text)
        for _, growth in self.steps:
            longest = (longest + 1) * growth
        if longest <= most:
            return
        # Texts that may grow this much are normalized step by step, a chunk at a time: most of them do not grow.
        now, until = text, time.monotonic() + _seconds(len(text))
        for step, growth in self.steps:
            normalizer = _normalizer(step)
            size = max(1, min(_CHUNK if "Regex" in str(step) else len(now), most // growth))
            chunks: list[str] = []
            total = 0
            for start in range(0, len(now), size):
                chunks.append(normalizer.normalize_str(now[start : start + size]))
                total += len(chunks[-1])
                if total > most:
                    raise ModelError(
                        f"the tokenizer's normalizer makes more than {most:,} letters of a text of {len(text):,}; "
                        f"{_AGAIN}"
                    )
                if time.monotonic() > until:
                    raise _too_slow(len(text))
            now = "".join(chunks)


def check_definition(definition: Mapping[str, Any]) -> None:
    """Refuse a tokenizer whose file alone makes huge texts: from added tokens, by byte-level steps, or when it decodes.

    Raises:
        ModelError: the definition exceeds a limit; names the part of it.
    """
    normalizing = Normalizing(definition)
    added = definition.get("added_tokens")
    for text in _READ_AT_ONCE:
        normalizing.check(text)
    for token in added if isinstance(added, list) else ():
        if isinstance(token, dict) and isinstance(token.get("content"), str):
            normalizing.check(token["content"])
    before = [step.get("type") for step in _flat(definition.get("pre_tokenizer"), "pretokenizers")]
    if before.count("ByteLevel") > _MOST_BYTE_LEVELS:
        raise ModelError(
            f"the tokenizer writes texts as bytes {before.count('ByteLevel')} times over (ByteLevel); expected once: "
            f"{_AGAIN}"
        )
    around = sum(map(_around, _flat(definition.get("post_processor"), "processors")))
    if around > MOST_AROUND:
        raise ModelError(
            f"the tokenizer puts {around:,} tokens around a text (post_processor); expected at most {MOST_AROUND:,}: "
            f"{_AGAIN}"
        )
    decoded = 1
    for step in _flat(definition.get("decoder"), "decoders"):
        decoded *= _growth(step) if step.get("type") == "Replace" else 1
        if decoded > MOST_DECODED:
            raise ModelError(f"the tokenizer's decoder may make over {MOST_DECODED:,} letters of one; {_AGAIN}")


def check_characters(texts: Sequence[str]) -> None:
    """Refuse a text with half a character of another encoding (a lone surrogate), which no text file can hold.

    Raises:
        InputError: a text has one; gives the character and its position.
    """
    for text in texts:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise InputError(
                f"a text has half a character (a lone surrogate, U+{ord(text[error.start]):04X}) at character "
                f"{error.start + 1} of {len(text):,}; expected Unicode: decode its bytes again, or leave it out"
            ) from None


def may_be_slow(definition: Mapping[str, Any]) -> bool:
    """Return True if a tokenizer's file has regular expressions or many steps, slow even on short texts."""
    parts = [definition.get(name) for name in ("normalizer", "pre_tokenizer")]
    steps = sum(1 for part, inner in zip(parts, ("normalizers", "pretokenizers")) for _ in _flat(part, inner))
    return steps > MOST_STEPS or any('"Regex"' in json.dumps(part) for part in parts)


def within_time(work: Callable[[], Result], *, letters: int, always: bool = True) -> Result:
    """Return the result of a tokenizer's work if it comes in time; work that takes longer goes on in its thread.

    Args:
        work: the work; it runs in another thread.
        letters: length of the texts, in characters.
        always: whether short texts are limited, too.

    Raises:
        ModelError: the work takes longer than `SECONDS` and than `LETTERS_A_SECOND` allows for the length.
    """
    if not always and letters <= _SHORT:
        return work()
    done: list[Result] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(_seconds(letters))
    if raised:
        raise raised[0]
    if not done:
        raise _too_slow(letters)
    return done[0]


def refused_panic(error: BaseException, texts: Sequence[str]) -> ModelError | None:
    """Return the error for a tokenizer in Rust that panicked; None for any other error."""
    if type(error).__name__ != "PanicException":
        return None
    return ModelError(
        f"the tokenizer gave up on a text of {max(map(len, texts), default=0):,} letters "
        f"({str(error).splitlines()[0][:100]}); {_AGAIN}"
    )


def _seconds(letters: int) -> float:
    return max(SECONDS, letters / LETTERS_A_SECOND)


def _too_slow(letters: int) -> ModelError:
    return ModelError(
        f"the tokenizer did not cut a text of {letters:,} letters within {_seconds(letters):,.0f} seconds; {_AGAIN}"
    )


def _flat(step: Any, inner: str) -> Iterator[Mapping[str, Any]]:
    """Yield the steps of a part of a tokenizer, including those of nested sequences."""
    if not isinstance(step, dict):
        return
    if step.get("type") != "Sequence":
        yield step
        return
    steps = step.get(inner)
    for each in steps if isinstance(steps, list) else ():
        yield from _flat(each, inner)


def _growth(step: Mapping[str, Any]) -> int:
    """Return the maximum number of characters that a step makes of one."""
    kind = step.get("type")
    if kind in ("Prepend", "Append"):
        return 1 + max(len(str(step.get("prepend", ""))), len(str(step.get("append", ""))))
    if kind == "Replace":
        pattern, content = step.get("pattern"), str(step.get("content", ""))
        replaced = pattern.get("String") if isinstance(pattern, dict) else None
        # A regular expression, like an empty string, may match the empty string between any two characters.
        return max(1, -(-len(content) // len(replaced))) if replaced else 1 + len(content)
    if kind == "Precompiled":
        return longest_entry(base64.b64decode(str(step.get("precompiled_charsmap", ""))))
    return _GROWTH.get(str(kind), 1)


def longest_entry(content: bytes) -> int:
    """Return the length of the longest replacement in SentencePiece's table: a trie's size, the trie, and texts."""
    begin = 4 + struct.unpack("<I", content[:4])[0] if len(content) >= 4 else 0
    return max(1, *(len(entry.decode(errors="replace")) for entry in content[begin:].split(b"\0")))


def _around(step: Mapping[str, Any]) -> int:
    """Return the number of tokens and texts that a template adds around one text, or around a pair."""
    named = step.get("special_tokens")
    sizes = {
        key: len(each["ids"])
        for key, each in (named.items() if isinstance(named, dict) else ())
        if isinstance(each, dict) and isinstance(each.get("ids"), list)
    }

    def size(piece: Any) -> int:
        token = piece.get("SpecialToken") if isinstance(piece, dict) else None
        return sizes.get(str(token.get("id")), 1) if isinstance(token, dict) else 1

    templates = (step.get(part) for part in ("single", "pair"))
    return max(sum(map(size, template)) if isinstance(template, list) else 0 for template in templates)


def _normalizer(step: Mapping[str, Any]) -> Any:
    """Return one step of a normalizer, built as in a whole tokenizer."""
    model = {"type": "BPE", "vocab": {}, "merges": []}
    return Tokenizer.from_str(json.dumps({"version": "1.0", "normalizer": step, "model": model})).normalizer
