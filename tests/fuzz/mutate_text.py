"""Mutations of bytes, and of text as lines and columns."""

import re
from random import Random

from fuzz.ingredients import Ingredients

LONGEST = 2_000_000  # bytes; doubled content stops growing here
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_DEEP = (b"(", b"[", b'{"a":', b"(TOP", b"((", b"<")


def mutate_bytes(content: bytes, rng: Random, use: Ingredients, other: bytes) -> bytes:
    """Return content that is broken as by a disk, a cut transfer or an attacker."""
    size = len(content)
    at = rng.randint(0, size)
    end = min(size, at + rng.choice((1, 2, 4, 16, 256, size)))
    match rng.randrange(9):
        case 0:
            return content[:at]
        case 1:
            return content[at:]
        case 2:
            return content[:at] + content[end:]
        case 3:
            return content[:at] + use.bytes(rng) + content[at:]
        case 4:
            return content[:at] + rng.randbytes(end - at) + content[end:]
        case 5:
            return content[:at] + _times(content[at:end], rng.choice((2, 3, 100))) + content[end:]
        case 6:
            return content[:at] + other[rng.randint(0, len(other)) :]
        case 7:
            return content[:at] + bytes(min(end - at, 4096)) + content[end:]
    flipped = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 8))):
        if flipped:
            flipped[rng.randrange(size)] ^= 1 << rng.randrange(8)
    return bytes(flipped)


def mutate_lines(content: bytes, rng: Random, use: Ingredients, other: bytes) -> bytes:
    """Return text with changed lines, columns or numbers."""
    lines = content.split(b"\n")
    at, to = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(11):
        case 0:
            del lines[at]
        case 1:
            lines.insert(to, lines[at])
        case 2:
            lines[at], lines[to] = lines[to], lines[at]
        case 3:
            lines.insert(at, rng.choice(other.split(b"\n")))
        case 4:
            lines.insert(at, use.bytes(rng))
        case 5:
            lines[at] = rng.choice((b" ", b"\t", b"", b"\r", b"")).join((lines[at], lines[to]))
        case 6:
            lines[at] += rng.choice(_DEEP) * rng.choice((3, 100, 20_000))
        case 7:
            lines[at] = _times(lines[at], rng.choice((0, 2, 50, 2000)))
        case 8:
            content = b"\n".join(lines)
            return rng.choice((content.replace(b"\n", b"\r\n"), content.replace(b"\n", b"\r"), content.rstrip()))
        case 9:
            lines[at] = _other_number(lines[at], rng, use)
        case _:
            lines[at] = mutate_columns(lines[at], rng, use)
    return b"\n".join(lines)


def mutate_columns(line: bytes, rng: Random, use: Ingredients) -> bytes:
    """Return a line with a field missing, doubled, swapped or replaced."""
    between = b"\t" if b"\t" in line else b" "
    fields = line.split(between)
    at, to = rng.randrange(len(fields)), rng.randrange(len(fields))
    match rng.randrange(5):
        case 0:
            del fields[at]
        case 1:
            fields.insert(to, fields[at])
        case 2:
            fields[at], fields[to] = fields[to], fields[at]
        case 3:
            fields[at] += use.bytes(rng)
        case _:
            fields[at] = use.bytes(rng)
    return between.join(fields)


def _times(part: bytes, number: int) -> bytes:
    return part * min(number, LONGEST // max(1, len(part)) + 1)


def _other_number(line: bytes, rng: Random, use: Ingredients) -> bytes:
    found = list(_NUMBER.finditer(line))
    if not found:
        return line
    chosen = rng.choice(found)
    new = "9" * 5000 if rng.random() < 0.05 else str(rng.choice(use.numbers))
    return line[: chosen.start()] + new.encode() + line[chosen.end() :]
