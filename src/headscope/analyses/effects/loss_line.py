"""A sentence on the loss that effects refer to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headscope.encoding.choices import LOSS_TASKS
from headscope.report_kit.loss_words import loss_words


def loss_line(manifest: Mapping[str, Any], stage: str = "effects") -> str:
    """Return a sentence on the loss, its mean, and the number of its targets; empty where the loss is unknown.

    Args:
        manifest: manifest of the run.
        stage: stage that computed the loss.
    """
    facts = manifest.get(stage)
    if not facts:
        return ""
    words = loss_words(facts, how="with all heads as they are, over")
    return f"The loss is that of {LOSS_TASKS[facts['loss']]}: {words}."
