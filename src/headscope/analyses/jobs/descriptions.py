"""The description of a job in a few words, from the means of its rows' features."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.jobs.features import CONTEXT, FEATURES
from headscope.analyses.jobs.row_facts import TAGGED

MOSTLY, HARDLY = 0.5, 0.1
"""A property is part of a job's description where more than the first share of its rows have it, or fewer than the
second."""
_THINGS = ("one thing", "another", "a third", "a fourth", "a fifth", "a sixth")
_NUMBER = re.compile(r"\d+")
_ONE_SIDED = 0.8
_SAME_PLACE = 0.25  # a deviation of log2(1 + tokens), below which a job looks at one place
_PARTS_OF_SPEECH = {
    "ADJ": "adjectives",
    "ADP": "prepositions",
    "ADV": "adverbs",
    "AUX": "auxiliaries",
    "CCONJ": "conjunctions",
    "DET": "determiners",
    "INTJ": "interjections",
    "NOUN": "nouns",
    "NUM": "numbers",
    "PART": "particles",
    "PRON": "pronouns",
    "PROPN": "names",
    "SCONJ": "subordinating conjunctions",
    "VERB": "verbs",
}


def described(values: NDArray[np.float64], around: NDArray[np.float64], *, square: bool) -> str:
    """Return the description of a job: "looks back one token", "looks at the same word earlier, about 20 tokens back".

    Args:
        values: features of the job's rows, `[row, FEATURES]`; parts of speech that are no more frequent than by chance
            are 0.
        around: what rows and keys are like as text, `[row, CONTEXT]`.
        square: whether rows and keys are the same tokens.
    """
    mean = dict(zip(FEATURES, values.mean(0).tolist(), strict=True))
    beside = dict(zip(CONTEXT, around.mean(0).tolist(), strict=True))
    at = _target(mean)
    where = _location(values) if square else ""
    if where == "at the token itself":
        description = "looks at the token itself"
    elif not at:
        description = f"looks {where}" if where else "looks at tokens of the other side"
    else:
        description = f"looks at {at}, {where}" if where else f"looks at {at}"
    tag = next((tag for tag in TAGGED if beside[f"row {tag}"] > MOSTLY), "")
    if beside["row punctuation"] > MOSTLY:
        description += ", from punctuation"
    elif tag:
        description += f", from {_PARTS_OF_SPEECH[tag]}"
    elif beside["row starts a word"] < HARDLY:
        description += ", from within words"
    return description


def distinguished(descriptions: Sequence[str]) -> list[str]:
    """Return the descriptions of a head's jobs, where similar ones are distinguished by what the jobs write."""
    distinct: list[str] = []
    for index, description in enumerate(descriptions):
        alike = [other for other in range(len(descriptions)) if _alike(description, descriptions[other])]
        distinct.append(f"{description}, and writes {_THINGS[alike.index(index)]}" if len(alike) > 1 else description)
    return distinct


def _alike(description: str, other: str) -> bool:
    """Return whether two descriptions are the same but for similar distances: six is like seven, not like twenty."""
    (mine, far), (theirs, further) = ((_NUMBER.sub("", says), _NUMBER.search(says)) for says in (description, other))
    if mine != theirs or far is None or further is None:
        return description == other
    near, last = sorted((int(far[0]), int(further[0])))
    return 2 * last <= 3 * near


def _target(mean: dict[str, float]) -> str:
    """Return the name of the sort of token that most rows look at; empty where there is none."""
    said = (
        ("same id", "an earlier copy" if mean["side"] > _ONE_SIDED else "another copy"),
        ("after copy", "what followed an earlier copy"),
        ("key period or comma", "a period or comma"),
        ("key other punctuation", "punctuation"),
        *((f"key {tag}", _PARTS_OF_SPEECH[tag]) for tag in TAGGED),
    )
    return next((words for name, words in said if mean[name] > MOSTLY), "")


def _location(values: NDArray[np.float64]) -> str:
    """Return the distance and side of keys: "back one token", "about 12 tokens ahead"."""
    offset, side = (values[:, FEATURES.index(name)] for name in ("offset", "side"))
    tokens = 2.0 ** float(offset.mean()) - 1.0
    far = round(tokens)
    if far == 0:
        return "at the token itself"
    amount = "one token" if far == 1 else f"{far} tokens"
    if float(offset.std()) > _SAME_PLACE:
        amount = f"about {amount}"
    if abs(float(side.mean())) < _ONE_SIDED:
        return f"{amount} away, on either side"
    return f"{'back' if side.mean() > 0 else 'ahead'} {amount}"
