"""A row of table 3: the probe and the model, its label and its color."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class System:
    """A probe on a model, as a row of table 3.

    Attributes:
        name: name in words.
        measure: measure that the row shows.
        role: role whose color the row has, and whose marker its curve has.
        paper: row of the paper's table, where it has one.
    """

    name: str
    measure: str = "UAS"
    role: str
    paper: str | None = None
