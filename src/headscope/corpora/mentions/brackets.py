"""The bracket notation of mentions: `(e1-person`, `e1)`, `(0|(12)|3)`."""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from headscope.corpora.annotation import Mention, Unmatched, UnmatchedBrackets
from headscope.errors import InputError

MAX_MENTIONS = 1_000_000  # per document; a line of 16 MiB can hold eight times as many
MAX_COVERED = 50_000_000  # total words of a document's mentions, each of which is visited
_BRACKET = re.compile(r"(\()?([^()|]*)(\))?\|?")
_PART = re.compile(r"(.+)\[([0-9]{1,4})/([0-9]{1,4})\]")
_ID_FIELDS = ("eid", "GRP")  # names of the entity's id in `# global.Entity` of CorefUD and GUM


@dataclass(frozen=True, kw_only=True)
class Brackets:
    """The brackets at one position of a document.

    Attributes:
        start: word at which a mention begins that opens here.
        end: word after the last of a mention that closes here: `start + 1` at a word, `start` at an empty node, which
            is not a word.
        value: brackets as they are written.
        origin: `file, line N`, for messages.
    """

    start: int
    end: int
    value: str
    origin: str


class Matched(NamedTuple):
    """The mentions that the brackets of a document define.

    Attributes:
        mentions: mentions sorted by start, longer first.
        unmatched: unmatched brackets, in order; their mentions are left out.
    """

    mentions: tuple[Mention, ...]
    unmatched: tuple[Unmatched, ...]


def mentions_of(
    values: Sequence[str], *, origins: Sequence[str], empty: Sequence[bool] = (), declared: str = "", document: str = ""
) -> Matched:
    """Return the mentions that a document's `Entity=` values of CoNLL-U define.

    The notation is that of CorefUD and GUM: `(e1-person-1-coref` opens a mention, `e1)` closes the last open one of its
    entity, `(e1-person)` does both, and several follow one another without a separator. Mentions nest and cross. A
    mention in parts (`(e5[1/2]-place`, `e5[1/2])`, ...) is taken as one mention, from its first part to its last
    including the words between. A closing bracket without an open one, a bracket that is never closed, and a part
    without the others are `unmatched`: only that mention is left out.

    Args:
        values: one value per syntactic word of the document, "" if it has none; also one per empty node (`8.1`) if
            `empty` marks them.
        origins: `file, line N` of each value.
        empty: whether each value belongs to an empty node, which takes no position: a mention that opens there begins
            at the next word, one that closes there ends at the previous word, and one that has no other node is left
            out. Without it, all are words.
        declared: value of the `# global.Entity` line (`eid-etype-head-other`), which gives the position of the entity's
            id in a bracket. Without it the id comes first.
        document: name of the document in the corpus, for messages.

    Raises:
        InputError: a value is not made of such brackets, a bracket has no id, or there are more than a million mentions
            or ten thousand unmatched brackets.
    """
    flags = empty or [False] * len(values)
    places, at = [], 0
    for value, origin, is_empty in zip(values, origins, flags, strict=True):
        after = at if is_empty else at + 1
        if value:
            places.append(Brackets(start=at, end=after, value=value, origin=origin))
        at = after
    if not places:
        return Matched((), ())
    return match_brackets(places, id_field=_id_field(declared, places[0].origin), document=document)


def match_brackets(
    places: Iterable[Brackets], *, id_field: int = 0, offset: int = 0, prefix: str = "", document: str = ""
) -> Matched:
    """Return the mentions that the brackets of one document, or of a part of it, define.

    Args:
        places: brackets in order. They may be separated by `|` (CoNLL-2012) or by nothing (CoNLL-U).
        id_field: index of the entity's id among the fields of an opening bracket, between `-`, from 0.
        offset: number added to the positions, because those of a part are counted from its own first word.
        prefix: text put before the entities' ids, because those of another part are different entities.
        document: name of the document in the corpus, for messages.

    Raises:
        InputError: as in `mentions_of`.
    """
    open_: dict[str, list[Brackets]] = {}
    parts: dict[str, _Parts] = {}
    mentions_found: list[Mention] = []
    unmatched = UnmatchedBrackets(printable(document))
    covered = 0
    for brackets in places:
        for opens, closes, label in _split(brackets, id_field):
            if opens:
                open_.setdefault(label, []).append(brackets)
            if not closes:
                continue
            if not open_.get(label):
                name = printable(label)
                remedy = f"open it before with ({name} or remove the bracket"
                unmatched.add(brackets.start, brackets.origin, f"{name}) closes a mention that is not open", remedy)
                continue
            start = open_[label].pop().start
            if part := _PART.fullmatch(label):
                entity, number, total = part[1], int(part[2]), int(part[3])
                parts_of_entity = parts.setdefault(entity, _Parts())
                if not parts_of_entity.fits(number, total):
                    fault = f"part {number} of {total} of a mention of {printable(entity)} is out of order"
                    remedy = f"number the parts of a mention in order, from [1/{total}] to [{total}/{total}]"
                    unmatched.add(brackets.start, brackets.origin, fault, remedy)
                    continue
                whole = parts_of_entity.add(start, number, total, brackets)
                if whole is None:
                    continue
                start = whole
            else:
                entity = label
            if brackets.end > start:
                mentions_found.append(Mention(offset + start, offset + brackets.end, prefix + entity))
                covered += brackets.end - start
                if len(mentions_found) > MAX_MENTIONS or covered > MAX_COVERED:
                    raise InputError(
                        f"{brackets.origin}: the document has more mentions than can be read: expected at most a "
                        "million, and 50 million words in them together; divide the document"
                    )
    for label, still_open in open_.items():
        for brackets in still_open:
            fault = f"the mention ({printable(label)} is never closed"
            remedy = f"close it with {printable(label)}) at its last word"
            unmatched.add(brackets.start, brackets.origin, fault, remedy)
    for entity, unfinished in parts.items():
        for number, total, brackets in unfinished.left():
            fault = f"the mention of {printable(entity)} with a part {number} of {total} has no part {number + 1}"
            remedy = "add it, or take the numbers in square brackets away"
            unmatched.add(brackets.start, brackets.origin, fault, remedy)
    mentions = sorted(mentions_found, key=lambda mention: (mention.start, -mention.end, mention.entity))
    return Matched(tuple(mentions), unmatched.in_order())


@dataclass
class _Parts:
    """The mentions of one entity of which some parts have been read."""

    # (start, place of the first part) by parts read and total, the oldest first
    begun: dict[tuple[int, int], deque[tuple[int, Brackets]]] = field(default_factory=dict)

    def fits(self, number: int, total: int) -> bool:
        """Return True if a part is a mention's first, or the part before it has been read."""
        return number == 1 or bool(self.begun.get((number - 1, total)))

    def add(self, start: int, number: int, total: int, brackets: Brackets) -> int | None:
        """Add the next part; return the start of its mention if that was its last part."""
        first, where = (start, brackets) if number == 1 else self.begun[number - 1, total].popleft()
        if number >= total:
            return first
        self.begun.setdefault((number, total), deque()).append((first, where))
        return None

    def left(self) -> Iterator[tuple[int, int, Brackets]]:
        """Yield the unfinished mentions: parts read, parts in total, and the place of the first part."""
        for (number, total), begun in self.begun.items():
            for _, brackets in begun:
                yield number, total, brackets


def _split(brackets: Brackets, id_field: int) -> Iterator[tuple[bool, bool, str]]:
    """Yield (opens, closes, label) of every bracket of a value; the label keeps the part: `e5[1/2]`."""
    at = 0
    while at < len(brackets.value):
        bracket = _BRACKET.match(brackets.value, at)
        if bracket is None or not (bracket[1] or bracket[3]):
            raise InputError(
                f"{brackets.origin}: expected brackets of mentions such as (1, 1) or (1), "
                f"found {printable(brackets.value)}; mend or remove them"
            )
        fields = bracket[2].split("-")
        # a closing bracket has only the id, or (in old files) all fields of the opening one
        label = fields[min(id_field, len(fields) - 1)] if not bracket[1] else "".join(fields[id_field:][:1])
        if not label.strip():
            raise InputError(
                f"{brackets.origin}: a bracket without an entity's id in {printable(brackets.value)}; "
                "write the id after the opening bracket, as in (1)"
            )
        yield bool(bracket[1]), bool(bracket[3]), label
        at = bracket.end()


def _id_field(declared: str, origin: str) -> int:
    fields = declared.split("-") if declared else ["eid"]
    places = [index for index, name in enumerate(fields) if name in _ID_FIELDS]
    if not places:
        raise InputError(
            f"{origin}: the brackets have no entity ids: # global.Entity = {printable(declared)} names neither "
            "eid nor GRP; give a corpus with coreference"
        )
    return places[0]


def printable(text: str) -> str:
    """Return a piece of a file for error messages: without control characters, shortened if it is long."""
    text = text if text.isprintable() else repr(text)[1:-1]
    return text if len(text) <= 80 else text[:80] + "..."
