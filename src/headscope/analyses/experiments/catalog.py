"""The experiments: the inputs of the model, and the behaviors that are measured on them."""

from collections.abc import Mapping
from dataclasses import dataclass

from headscope.analyses.behaviors.catalog import BEHAVIORS, NATURAL, Behavior


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """An experiment: controlled inputs for a model, and the behaviors measured on them.

    Attributes:
        name: name in tables.
        title: title in the page.
        where: words in sentences: `over repeated random tokens, ...`.
        meaning: description of the inputs, for the definitions and the glossary.
        behaviors: measured behaviors, in order.
        on_cards: True if heads' cards and the search include its behaviors.
        beside: words added there to the behavior's name in labels.
    """

    name: str
    title: str
    where: str
    meaning: str
    behaviors: tuple[str, ...]
    on_cards: bool = False
    beside: str = ""

    @property
    def measured(self) -> list[Behavior]:
        """The behaviors by their rows in the catalog."""
        return [BEHAVIORS[name] for name in self.behaviors]


_EVERY = (
    Experiment(
        name="repeated",
        title="Random tokens, repeated",
        where="over repeated random tokens",
        meaning="64 sequences of a stretch of 64 random tokens that is repeated once (shorter where the model reads "
        "less), each ordinary token of the vocabulary as likely: none special, added or unused. Rows of the second "
        "copy alone",
        behaviors=("induction", "duplicate", "previous"),
        on_cards=True,
        beside=", random tokens",
    ),
    Experiment(
        name="needle",
        title="A needle in a haystack",
        where="in repeated needles",
        meaning="24 stretches of 16 tokens of the text, each put at five depths (0, ¼, ½, ¾, 1) into other text, in "
        "inputs of three lengths in turn: 512 tokens (or what the model reads), a half and a quarter; behind it the "
        "needle is given again. Decoders alone",
        behaviors=("retrieval",),
        on_cards=True,
    ),
    Experiment(
        name="shuffled",
        title="Shuffled words",
        where="over shuffled words",
        meaning="at most 128 inputs of the text, spread over its documents, with the words of each line in another "
        "order",
        behaviors=NATURAL,
    ),
)  # fmt: skip

EXPERIMENTS: Mapping[str, Experiment] = {experiment.name: experiment for experiment in _EVERY}
NAMES = tuple(EXPERIMENTS)
MEASURED = tuple(dict.fromkeys(name for experiment in _EVERY for name in experiment.behaviors))
