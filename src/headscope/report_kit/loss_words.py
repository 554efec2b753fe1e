"""How large a loss is, and over how much, in words that are those of its kind."""

from collections.abc import Mapping
from typing import Any

from headscope.counted import count
from headscope.encoding.choices import LABELS


def loss_words(facts: Mapping[str, Any], *, how: str, noun: str = "input") -> str:
    """Return `3.46 nats a token, over 96 inputs, 864 tokens predicted`; a classifier's is in nats a text.

    Args:
        facts: what the manifest says of the loss: its name, mean, number of segments and of targets.
        how: stands between mean and numbers.
        noun: what segments are called.
    """
    unit = "text" if facts["loss"] == LABELS else "token"
    return f"{facts['loss_mean']:.2f} nats a {unit} {how} {predicted(facts, noun=noun)}"


def predicted(facts: Mapping[str, Any], *, noun: str = "input") -> str:
    """Return `96 inputs, 864 tokens predicted`; of a classifier, classes.

    Args:
        facts: as `loss_words` takes them.
        noun: what segments are called.
    """
    what = ("class", "classes") if facts["loss"] == LABELS else ("token",)
    return f"{count(int(facts['segments']), noun)}, {count(int(facts['targets']), *what)} predicted"
