"""What is done to a head, in words."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Wording:
    """How sentences speak of an intervention.

    Attributes:
        before, after: stand around the name of a head that is changed.
        several: the same of several heads.
        how: what is done to each head, in a sentence.
        card: what is done to one, on its card.
    """

    before: str
    after: str
    several: str
    how: str
    card: str = "without it"


WORDINGS = {
    "mean": Wording(
        "without ",
        "",
        "without",
        "Each head in turn wrote its mean over tokens of the same class, taken on other documents.",
    ),
    "zero": Wording("without ", "", "without", "Each head in turn wrote nothing."),
    "resample": Wording(
        "without ", "", "without", "Each head in turn wrote what it writes at a token of another document."
    ),
    "uniform": Wording(
        "with uniform attention in ",
        "",
        "with uniform attention in",
        "Each head in turn attended to all tokens alike.",
        "with uniform attention",
    ),
    "sink": Wording(
        "with all attention of ",
        " on a sink",
        "with all attention on a sink in",
        "Each head in turn attended to a sink token alone.",
        "with all its attention on a sink",
    ),
}
