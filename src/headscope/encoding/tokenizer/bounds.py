"""Bounds on what a tokenizer makes of a text: its length after normalizing and decoding, and the time it takes."""

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
"""Letters of a text after each step of normalizing, or so many times those of a long one; Unicode's largest is 18."""
MOST_DECODED = 1000
"""Letters that a decoder may make of one."""
SECONDS, LETTERS_A_SECOND = 60.0, 10_000
"""How long cutting a text may take: a minute, and longer for a long one; tokenizers cut a million letters a second."""
_CHUNK = 256  # letters that are normalized between two looks at the clock
_SHORT = 1000
"""Letters that any tokenizer cuts in no time, unless its file brings patterns, or many steps."""
MOST_STEPS = 32
MOST_AROUND = 1000
"""Special tokens and texts that a template may put around a text."""
_AGAIN = "use the tokenizer that the model was trained with, as save_pretrained writes it"
_GROWTH = {"Lowercase": 3, "NFC": 3, "NFD": 4, "NFKC": 18, "NFKD": 18, "BertNormalizer": 4, "ByteLevel": 4, "Nmt": 1}
_MOST_BYTE_LEVELS = 4
_READ_AT_ONCE = ("a", "b")  # by whoever loads a tokenizer, to see what it writes
Result = TypeVar("Result")


class Normalizing:
    """The steps of a tokenizer's normalizer, each with how many letters it may make of one.

    Args:
        definition: what tokenizer.json holds.
    """

    def __init__(self, definition: Mapping[str, Any]) -> None:
        self.steps = [(step, _growth(step)) for step in _flat(definition.get("normalizer"), "normalizers")]

    def check(self, text: str) -> None:
        """Refuse a text of which the normalizer makes more letters than any text has.

        Raises:
            ModelError: says how many, and of how many.
        """
        most, longest = max(MOST_LETTERS, MOST_GROWTH * len(text)), len(text)
        for _, growth in self.steps:
            longest = (longest + 1) * growth
        if longest <= most:
            return
        # What may grow so much is done step by step, a chunk at a time: most such texts do not grow.
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
    """Refuse a tokenizer whose file alone makes texts without end: of its added tokens, of bytes, or when it decodes.

    Raises:
        ModelError: says which part of it.
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
    """Refuse a text that is none: with half a character of another encoding, which no file of text can hold.

    Raises:
        InputError: says which, and where.
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
    """Return True if a tokenizer's file brings regular expressions or many steps, which take long over a short text."""
    parts = [definition.get(name) for name in ("normalizer", "pre_tokenizer")]
    steps = sum(1 for part, inner in zip(parts, ("normalizers", "pretokenizers")) for _ in _flat(part, inner))
    return steps > MOST_STEPS or any('"Regex"' in json.dumps(part) for part in parts)


def within_time(work: Callable[[], Result], *, letters: int, always: bool = True) -> Result:
    """Return the result of a tokenizer's work, if it comes in time; work that takes longer goes on by itself.

    Args:
        work: the work; another thread does it.
        letters: length of the texts.
        always: whether short texts may take long, too.

    Raises:
        ModelError: it takes longer than `SECONDS`, or than `LETTERS_A_SECOND` allow for so long a text.
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
    """Return the error for a tokenizer in Rust that gave up; None for any other error."""
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
    """Yield the steps of a part of a tokenizer, those of sequences in sequences too."""
    if not isinstance(step, dict):
        return
    if step.get("type") != "Sequence":
        yield step
        return
    steps = step.get(inner)
    for each in steps if isinstance(steps, list) else ():
        yield from _flat(each, inner)


def _growth(step: Mapping[str, Any]) -> int:
    """Return how many letters a step makes of one at most."""
    kind = step.get("type")
    if kind in ("Prepend", "Append"):
        return 1 + max(len(str(step.get("prepend", ""))), len(str(step.get("append", ""))))
    if kind == "Replace":
        pattern, content = step.get("pattern"), str(step.get("content", ""))
        replaced = pattern.get("String") if isinstance(pattern, dict) else None
        # A regular expression, like an empty string, may match nothing, between any two letters.
        return max(1, -(-len(content) // len(replaced))) if replaced else 1 + len(content)
    if kind == "Precompiled":
        return longest_entry(base64.b64decode(str(step.get("precompiled_charsmap", ""))))
    return _GROWTH.get(str(kind), 1)


def longest_entry(content: bytes) -> int:
    """Return the length of the longest replacement in SentencePiece's table: a trie's size, the trie, and texts."""
    begin = 4 + struct.unpack("<I", content[:4])[0] if len(content) >= 4 else 0
    return max(1, *(len(entry.decode(errors="replace")) for entry in content[begin:].split(b"\0")))


def _around(step: Mapping[str, Any]) -> int:
    """Return how many tokens and texts a template writes for one text, or for a pair."""
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
    """Return one step of a normalizer, made as it is in a whole tokenizer."""
    model = {"type": "BPE", "vocab": {}, "merges": []}
    return Tokenizer.from_str(json.dumps({"version": "1.0", "normalizer": step, "model": model})).normalizer
