"""Dependency heads in the terminal: table 1."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.analyses.stage_result import StageResult
from headscope.attention.head_id import head_label, kind_prefixes
from headscope.counted import count
from headscope.report_kit.numbers import q_words, terminal_ends, terminal_share
from headscope.report_kit.tables.terminal import Grid
from headscope.statistics.arc_bins import FEWEST_ARCS, TOTALS


def render_results(result: StageResult) -> Iterator[Grid | str]:
    """Yield table 1: for each relation the best head held-out, its accuracy, and the best offset's accuracy."""
    best = result.tables["syntax_best"]
    trained = best[best["model"] == "trained"]
    selection = "held-out" if (trained["selection"] == "held-out").any() else "same-data"
    control = best[(best["model"] == "control") & (best["selection"] == selection)]
    is_held_out = selection == "held-out"
    chance = control.groupby("relation")["held_out"].mean()
    titles = [
        *("relation", "n", "head", "direction", "accuracy", "95% interval", "offset", "accuracy", "above"),
        *(["95% interval", "held out"] if is_held_out else ["95% interval"]),
        *(["control", "q"] if len(chance) else ["q"]),
    ]
    prefix = kind_prefixes(result.tables["syntax"]["kind"])
    rows = []
    for row in trained[trained["selection"] == selection].to_dict("records"):
        head = prefix[row["kind"]] + head_label(row["layer"], row["head"])
        cells = (
            *(row["relation"], f"{row['n_arcs']:,}", head, row["direction"]),
            *(terminal_share(row["accuracy"]), terminal_ends(row["ci_low"], row["ci_high"])),
            *(f"{row['baseline_offset']:+d}", terminal_share(row["baseline_accuracy"])),
            *(terminal_share(row["margin"]), terminal_ends(row["margin_ci_low"], row["margin_ci_high"])),
            *([terminal_share(row["held_out"])] if is_held_out else []),
            *([terminal_share(chance.get(row["relation"], float("nan")))] if len(chance) else []),
            "" if row["relation"] in TOTALS else q_words(row["q_value"]),
        )
        rows.append(cells)
    yield Grid(titles, rows, words=("head", "direction"))
    facts = result.facts["treebank"]
    selection_text = (
        "head, direction and offset: those that halves of the documents choose most often, on documents that did not "
        "choose them; held out: what the choice is worth on the other half"
        if is_held_out
        else "head, direction and offset chosen and scored on the same data, as the original's notebook does"
    )
    yield (
        f"{facts['name']}: {count(facts['sentences'], 'sentence')} of {count(facts['documents'], 'document')}; "
        f"percent; {selection_text}; "
        f"relations of at least {FEWEST_ARCS} arcs; {'control: random weights; ' if len(chance) else ''}"
        f"q: one-sided test of the {'choice' if is_held_out else 'head'} against every offset, false discovery rate"
    )
