"""The wording of each intervention."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Wording:
    """The wording of an intervention in sentences.

    Attributes:
        how: sentence that describes the intervention on each head.
        before, after: words before and after the name of a changed head.
        several: words before the names of several changed heads.
        card: words on the card of a changed head.
    """

    how: str
    before: str = "without "
    after: str = ""
    several: str = "without"
    card: str = "without it"


WORDINGS = {
    "mean": Wording("Each head in turn wrote its mean over tokens of the same class, taken on other documents."),
    "zero": Wording("Each head in turn wrote nothing."),
    "resample": Wording("Each head in turn wrote what it writes at a token of another document."),
    "uniform": Wording(
        "Each head in turn attended to all tokens alike.",
        before="with uniform attention in ",
        several="with uniform attention in",
        card="with uniform attention",
    ),
    "sink": Wording(
        "Each head in turn attended to a sink token alone.",
        before="with all attention of ",
        after=" on a sink",
        several="with all attention on a sink in",
        card="with all its attention on a sink",
    ),
}
