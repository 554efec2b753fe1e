"""What every hostile case is: something made in a folder, and what headscope must say of it."""

import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Case:
    """One attack or fault.

    Attributes:
        name: of the test.
        make: puts it into an empty folder and returns what is given to headscope.
        says: a part of the message that must come; None where it must be taken without an error.
    """

    name: str
    make: Callable[[Path], Path]
    says: str | None


def each(cases: Iterable[Case]):
    """Run a test once for each case, by its name."""
    return pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in cases])


def printable(text: str) -> bool:
    """Whether a message holds nothing that moves a terminal's cursor, and nothing invisible."""
    return not any(
        unicodedata.category(character) in {"Cc", "Cf", "Cs"} for character in text.strip("\n").replace("\n", "")
    )
