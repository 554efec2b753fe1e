"""Descriptions of a loss and of the inputs behind it, worded for its kind."""

from collections.abc import Mapping
from typing import Any

from headscope.counted import count
from headscope.encoding.choices import LABELS, LOSS_TASKS


def loss_words(facts: Mapping[str, Any], *, how: str, noun: str = "input") -> str:
    """Return `3.46 nats a token, over 96 inputs, 864 tokens predicted`; a classifier's is in nats a text.

    Args:
        facts: the manifest's entry on the loss: its name, mean, number of segments and of targets.
        how: words between mean and numbers.
        noun: noun for segments.
    """
    unit = "text" if facts["loss"] == LABELS else "token"
    return f"{facts['loss_mean']:.2f} nats a {unit} {how} {predicted(facts, noun=noun)}"


def loss_sentence(facts: Mapping[str, Any], how: str, noun: str = "input") -> str:
    """Return a sentence on the task of a loss, its mean and its numbers of segments and targets.

    Args:
        facts: as for `loss_words`, as are `how` and `noun`.
    """
    return f"The loss is that of {LOSS_TASKS[facts['loss']]}: {loss_words(facts, how=how, noun=noun)}."


def predicted(facts: Mapping[str, Any], *, noun: str = "input") -> str:
    """Return `96 inputs, 864 tokens predicted`; for a classifier, classes.

    Args:
        facts: as for `loss_words`.
        noun: noun for segments.
    """
    what = ("class", "classes") if facts["loss"] == LABELS else ("token",)
    return f"{count(int(facts['segments']), noun)}, {count(int(facts['targets']), *what)} predicted"
