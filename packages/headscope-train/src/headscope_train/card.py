"""The card of a trained model: architecture, data, results and limits."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from headscope.present.numbers import bracketed_interval
from headscope.visible import count
from headscope_train.objectives.objective import Objective

_ROWS = 12


def model_card(facts: Mapping[str, Any], log: pd.DataFrame, objective: Objective, *, name: str) -> str:
    """Return the card as Markdown, from the files of a training.

    Args:
        facts: contents of `training.json`.
        log: contents of `training.parquet`.
        objective: training objective.
        name: name of the model's folder.
    """
    model, data, options = facts["model"], facts["data"], facts["options"]
    pieces = (
        f"{objective.tokenizer_words} trained on the same text"
        if facts["tokenizer"]["trained"]
        else "tokenizer as given"
    )
    parts = [
        f"# {name}",
        f"A `{model['architecture']}`: {model['layers']} layers x {model['heads']} heads, "
        f"{model['width']} wide, {model['parameters']:,} parameters, {facts['tokenizer']['pieces']:,} pieces "
        f"({pieces}). "
        "Trained with headscope, to look at its attention heads.",
        _origin(facts, objective),
        "## Data",
        f"- {data['name']}: {count(data['documents'], 'document')}, {count(data['tokens'], 'token')}; hash "
        f"`{data['hash']}` (BLAKE2b "
        "of the documents)",
        f"- trained on: {_amount(data['train'])}",
        f"- held out, never trained on: {_amount(data['held_out'])}",
        *(f"- left out: {number:,} ({why})" for why, number in data["left_out"].items()),
        *(f"- {note}" for note in facts["notes"]),
        "## Training",
        f"{count(facts['steps'], 'step')} of {count(options['batch_size'], 'input')} of at most "
        f"{options['max_length']} tokens "
        f"({facts['tokens']:,} tokens, {facts['epochs']:.2f} epochs) in {_duration(facts['seconds'])} on "
        f"{facts['device']} ({facts['precision']}, {facts['threads']} threads).",
        f"{objective.asked_words(options)} "
        "AdamW (betas 0.9 and 0.98, weight decay 0.01 on matrices), gradients clipped to a norm of 1, the "
        f"learning rate rising to {options['learning_rate']:g} over {options['warm_up']:.0%} of the steps and falling "
        f"to 0; dropout {options['dropout']:g}; seed {options['seed']}.",
        "## Curves",
        _curves(log),
        "Loss in nats and accuracy for each token asked for; in brackets the 95% interval over the held-out "
        "documents, where there are 10 or more. The whole table is `training.parquet`.",
        "## Versions",
        ", ".join(f"{package} {number}" for package, number in facts["versions"].items())
        + f"; signature `{facts['signature']}`",
        "## Limits",
        f"- {objective.limits()}",
        f"- It reads up to {options['max_length']} tokens as it did in training.",
        "- The held-out documents are of the same corpus: the accuracy says nothing of other text.",
        "- It repeats what its text says, with its slants; the text's license is not known to this card.",
        "- The same command gives the same weights on the same machine, device, number of threads and versions; "
        "elsewhere the last digits differ.",
        "## Look at it",
        f"```\nheadscope report --model {name} --text YOUR.txt --out report\n```",
    ]
    return "\n\n".join(_joined(parts)) + "\n"


def _joined(parts: list[str]) -> list[str]:
    """Join list items without blank lines between them."""
    joined: list[str] = []
    for part in parts:
        if part.startswith("- ") and joined and joined[-1].startswith("- "):
            joined[-1] += "\n" + part
        else:
            joined.append(part)
    return joined


def _origin(facts: Mapping[str, Any], objective: Objective) -> str:
    start = facts["start"]
    if facts["options"]["size"] is not None:
        return "Trained from scratch: every weight began at random."
    head = (
        f" That checkpoint has no trained {objective.head_words}: **this head was trained from new**."
        if start["new_head"]
        else f" Its {objective.head_words} was trained on as well."
    )
    return f"Trained on from {start['name']} (weights `{start['weights']}`).{head}"


def _amount(part: Mapping[str, int]) -> str:
    return (
        f"{count(part['inputs'], 'input')} of {count(part['documents'], 'document')}, {count(part['tokens'], 'token')}"
    )


def _curves(log: pd.DataFrame) -> str:
    """Return a table of the held-out measurements, else of the training loss: at most 12 rows, with both ends."""
    lines = ["| step | tokens read | training loss | held-out loss | held-out accuracy |", "|---:|---:|---:|---:|---:|"]
    rows_by_key = {(int(row["step"]), row["split"], row["measure"]): row for row in log.to_dict("records")}
    steps = sorted(
        {step for step, split, _ in rows_by_key if split == "held-out"} or {step for step, _, _ in rows_by_key}
    )
    kept = sorted({steps[round(i * (len(steps) - 1) / (_ROWS - 1))] for i in range(_ROWS)})
    for step in kept:
        rows = [
            rows_by_key.get((step, *key)) for key in (("train", "loss"), ("held-out", "loss"), ("held-out", "accuracy"))
        ]
        tokens = next(row["tokens"] for row in rows if row is not None)
        cells = [
            f"{step:,}",
            f"{tokens:,}",
            "-" if rows[0] is None else f"{rows[0]['value']:.3f}",
            _cell(rows[1], scale=1.0, form=".3f"),
            _cell(rows[2], scale=100.0, form=".1f", unit="%"),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(row: "Mapping[Any, Any] | None", *, scale: float, form: str, unit: str = "") -> str:
    if row is None:
        return "-"
    interval = bracketed_interval(row["ci_low"], row["ci_high"], form=form, scale=scale)
    return f"{scale * row['value']:{form}}{unit}{interval}"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.1f} minutes"
