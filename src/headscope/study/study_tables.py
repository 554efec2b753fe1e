"""A study's tables by name, each read once."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

import pandas as pd


@runtime_checkable
class Tabled(Protocol):
    """What a study is to whoever reads its tables: a study imports those who do."""

    manifest: Mapping[str, Any]

    @property
    def tables(self) -> list[str]:
        """Names of the tables."""
        ...

    def table(self, name: str) -> pd.DataFrame:
        """Read one of them."""
        ...


class StudyTables(Mapping[str, pd.DataFrame]):
    """The tables of a study, each read when it is first asked for and kept, for whoever asks often.

    Reading one raises `InputError` where its file is gone, or is not as the run wrote it.
    """

    def __init__(self, study: Tabled) -> None:
        self._study = study
        self._names = frozenset(study.tables)
        self._read: dict[str, pd.DataFrame] = {}

    def __getitem__(self, name: str) -> pd.DataFrame:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._read:
            self._read[name] = self._study.table(name)
        return self._read[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._names))

    def __len__(self) -> int:
        return len(self._names)
