"""Coreference heads in the terminal: table 2, and GAP by gender."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import pandas as pd

from headscope.analyses.stage_result import StageResult
from headscope.attention.head_id import head_label, kind_prefixes
from headscope.counted import count
from headscope.report_kit.numbers import q_words, terminal_ends, terminal_share
from headscope.report_kit.tables.terminal import Grid


def render_results(*results: StageResult) -> Iterator[Grid | str]:
    """Yield table 2 and the table of GAP, if they were measured."""
    for result in results:
        yield from _gap(result) if result.name == "gap" else _systems(result)


def _systems(result: StageResult) -> Iterator[Grid | str]:
    systems = result.tables["coref"]
    types = list(dict.fromkeys(systems["mention_type"]))
    n = systems.drop_duplicates("mention_type").set_index("mention_type")["n_mentions"]
    lines = []
    prefix = kind_prefixes(result.tables["coref_heads"]["kind"])
    rows = systems.assign(name=[_name(row, prefix) for row in systems.to_dict("records")])
    for name, group in rows.groupby("name", sort=False):
        cells = {kind: _accuracy_text(cases) for kind, cases in group.groupby("mention_type")}
        is_tested = (
            (group["model"] == "trained") & (group["selection"] == "held-out") & (group["mention_type"] == "all")
        )
        q = group.loc[is_tested, "q_value"]
        lines.append([str(name), *(cells.get(kind, "-") for kind in types), q_words(q.iloc[0]) if len(q) else ""])
    yield Grid(("system", *(f"{name} ({n[name]:,})" for name in types), "q"), lines)
    facts = result.facts["coreference"]
    yield (
        f"{facts['name']}: {facts['counted']:,} of {count(facts['mentions'], 'mention has', 'mentions have')} "
        "an antecedent in their window "
        f"of at most {facts['max_length']} tokens ({count(facts['windows'], 'window')}, "
        f"{count(facts['documents'], 'document')}); "
        "percent, 95% interval"
    )
    selected = systems[(systems["model"] == "trained") & (systems["mention_type"] == "all")]
    held_out, all_documents = selected["held_out"].dropna(), selected["all_documents"].dropna()
    if len(held_out):
        yield (
            "held-out: the head that halves of the documents choose most often, on documents that did not choose it; "
            f"on all documents {terminal_share(all_documents.iloc[0])}; what is chosen on one half is right for "
            f"{terminal_share(held_out.iloc[0])} on the other; q: one-sided test of the choice against nearest and "
            "against head match, else nearest"
        )
    for why, number in facts["lost_why"].items():
        yield f"left out {number:,}: {why}"


def _accuracy_text(rows: pd.DataFrame) -> str:
    """Return the accuracy with its interval, or for several rows the mean of the held-out accuracies."""
    if len(rows) == 1:
        row = rows.iloc[0]
        return f"{terminal_share(row['accuracy'])} ({terminal_ends(row['ci_low'], row['ci_high'])})"
    return terminal_share(rows["held_out" if rows["held_out"].notna().all() else "accuracy"].mean())


def _name(row: dict[Any, Any], prefix: Mapping[Hashable, str]) -> str:
    if row["model"] == "baseline":
        return str(row["system"])
    if row["model"] == "control":
        return f"random weights, {row['selection']} (mean of controls)"
    return _head(row, prefix)


def _head(row: dict[Any, Any], prefix: Mapping[Hashable, str]) -> str:
    """Return the name of a head and of its selection."""
    return f"{prefix[row['kind']]}head {head_label(row['layer'], row['head'])}, {row['selection']}"


def _gap(result: StageResult) -> Iterator[Grid | str]:
    gap = result.tables["gap"]
    measures = [(m, g) for m in dict.fromkeys(gap["measure"]) for g in dict.fromkeys(gap["gender"])]
    facts = result.facts["gap"]
    prefix = kind_prefixes(facts["kinds"])
    names = [_head(row, prefix) if row["system"] == "head" else str(row["system"]) for row in gap.to_dict("records")]
    values = gap.assign(name=names).set_index(["name", "measure", "gender"])["value"]
    lines = [
        [name, *(terminal_share(values.get((name, *key), float("nan"))) for key in measures)]
        for name in dict.fromkeys(names)
    ]
    yield Grid(("system", *map(", ".join, measures)), lines)
    yield (
        f"{facts['name']}: {facts['used']:,} of {count(facts['rows'], 'row')} of GAP; percent; held-out: the head that "
        "halves of the rows choose most often, on rows that did not choose it"
    )
