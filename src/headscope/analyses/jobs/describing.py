"""What a job is, in a few words, from the means of its rows' features."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.jobs.features import CONTEXT, FEATURES
from headscope.analyses.jobs.row_facts import TAGGED

MOSTLY, HARDLY = 0.5, 0.1
"""What more, or fewer, than such a share of the rows has is said of a job."""
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


def described(found: NDArray[np.float64], around: NDArray[np.float64], *, square: bool) -> str:
    """Return what a job's rows do: "looks back one token", "looks at the same word earlier, about 20 tokens back".

    Args:
        found: features of the job's rows, `[row, FEATURES]`; parts of speech that chance gives as well are 0.
        around: `[row, CONTEXT]`.
        square: whether rows and keys are the same tokens.
    """
    mean = dict(zip(FEATURES, found.mean(0).tolist(), strict=True))
    beside = dict(zip(CONTEXT, around.mean(0).tolist(), strict=True))
    at = _target(mean)
    where = _place(found) if square else ""
    if where == "at the token itself":
        says = "looks at the token itself"
    elif not at:
        says = f"looks {where}" if where else "looks at tokens of the other side"
    else:
        says = f"looks at {at}, {where}" if where else f"looks at {at}"
    tag = next((tag for tag in TAGGED if beside[f"row {tag}"] > MOSTLY), "")
    if beside["row punctuation"] > MOSTLY:
        says += ", from punctuation"
    elif tag:
        says += f", from {_PARTS_OF_SPEECH[tag]}"
    elif beside["row starts a word"] < HARDLY:
        says += ", from within words"
    return says


def told_apart(says: Sequence[str]) -> list[str]:
    """Return the words of a head's jobs, where those that look alike differ by what they write."""
    found: list[str] = []
    for place, own in enumerate(says):
        alike = [other for other in range(len(says)) if _alike(own, says[other])]
        found.append(f"{own}, and writes {_THINGS[alike.index(place)]}" if len(alike) > 1 else own)
    return found


def _alike(one: str, other: str) -> bool:
    """Return whether two jobs are told in the same words, but for tokens away: six is like seven, not like twenty."""
    (mine, far), (theirs, further) = ((_NUMBER.sub("", says), _NUMBER.search(says)) for says in (one, other))
    if mine != theirs or far is None or further is None:
        return one == other
    near, last = sorted((int(far[0]), int(further[0])))
    return 2 * last <= 3 * near


def _target(mean: dict[str, float]) -> str:
    """Return what is looked at, where most rows look at one sort of token."""
    said = (
        ("same id", "an earlier copy" if mean["side"] > _ONE_SIDED else "another copy"),
        ("after copy", "what followed an earlier copy"),
        ("key punctuation", "a period or comma"),
        ("key other punctuation", "punctuation"),
        *((f"key {tag}", _PARTS_OF_SPEECH[tag]) for tag in TAGGED),
    )
    return next((words for name, words in said if mean[name] > MOSTLY), "")


def _place(found: NDArray[np.float64]) -> str:
    """Return how far away and on which side keys are: "back one token", "about 12 tokens ahead"."""
    offset, side = (found[:, FEATURES.index(name)] for name in ("offset", "side"))
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
