"""Hostile test cases: how to make a harmful file, and the message that headscope must give."""

import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Case:
    """Hold one attack or fault.

    Attributes:
        name: name of the test.
        make: writes the fault into an empty folder and returns the path for headscope.
        says: required part of the error message; None if headscope must accept the input.
    """

    name: str
    make: Callable[[Path], Path]
    says: str | None


def each(cases: Iterable[Case]):
    """Run a test once for each case, by its name."""
    return pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in cases])


def printable(text: str) -> bool:
    """Return True if a message holds nothing that moves a terminal's cursor, and nothing invisible."""
    return not any(
        unicodedata.category(character) in {"Cc", "Cf", "Cs"} for character in text.strip("\n").replace("\n", "")
    )
