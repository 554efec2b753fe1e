"""A line of table 3: the probe and the model, its label and its color."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class System:
    """A probe on a model, as a line of table 3.

    Attributes:
        name: in words.
        measure: what the line shows.
        role: whose color it has, and in curves whose shape.
        paper: the line of the paper's table, where it has one.
    """

    name: str
    measure: str = "UAS"
    role: str
    paper: str | None = None
