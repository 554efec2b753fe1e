"""The loss that effects are effects on, in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headscope.counted import count
from headscope.encoding.choices import LOSS_TASKS


def loss_line(manifest: Mapping[str, Any], stage: str = "effects") -> str:
    """Return a sentence on the loss, its mean, and on how much it was taken; empty where it is unknown.

    Args:
        manifest: of the run.
        stage: whose loss it is.
    """
    facts = manifest.get(stage)
    if not facts:
        return ""
    return (
        f"The loss is that of {LOSS_TASKS[facts['loss']]}: {facts['loss_mean']:.2f} nats a token with all heads as "
        f"they are, over {count(int(facts['segments']), 'input')}, {count(int(facts['targets']), 'token')} predicted."
    )
