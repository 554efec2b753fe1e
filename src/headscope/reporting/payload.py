"""Data for the page's script: every statistic of every head, and marks of guided heads."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from headscope.analyses.for_report import every_part, functions_of, measures_of
from headscope.models.anatomy import GUIDED
from headscope.present.figures.line_diagram import weights_of
from headscope.present.figures.style import label
from headscope.present.head_functions import LOOKS
from headscope.present.kinds import Kind
from headscope.present.linked_sentences import Sentence
from headscope.present.numbers import json_numbers, percent
from headscope.present.report_parts import Context
from headscope.present.study import Study
from headscope.present.values import once_a_study
from headscope.present.words import Words, capital, join
from headscope.reporting.head_summary import finds_of, is_explained, looks_of, shows_of, summaries_of_kind
from headscope.scans.declarations.head_measures import SHARE
from headscope.statistics.roles import OTHERWISE, ROLES, SHOWN, Role
from headscope.statistics.statistic_catalog import NAMES, is_share
from headscope.views.quantize import write_weights
from headscope.visible import titled

SCHEMA = 1


def guided_line(manifest: Mapping[str, Any]) -> str:
    """Return a phrase with the guided heads of a run's model; empty without guided heads."""
    guided = manifest.get(GUIDED)
    if not guided:
        return ""
    verb = "were" if len(guided["heads"]) > 1 else "was"
    return f"{join(guided['heads'])} {verb} guided for the first {percent(guided['share'], 0)} of training"


def guided_sentences(manifest: Mapping[str, Any], kind: Kind) -> dict[int, str]:
    """Return the sentence for the card of each guided head, by its index in a kind of attention."""
    guided = manifest.get(GUIDED)
    if not guided:
        return {}
    sentence = (
        f"Guided: for the first {percent(guided['share'], 0)} of training it was shown where to look. That such heads "
        "form by data alone does not follow from it."
    )
    places = [[int(number) for number in head.split("-")] for head in guided["heads"]]
    return {
        kind.head_index(layer, head): sentence
        for layer, head in places
        if layer <= kind.layers and head <= kind.heads_per_layer
    }


@once_a_study
def data_block(run: Study) -> dict[str, Any]:
    """Return the statistics for the script: per kind flat lists in head order (layer by layer), null where missing.

    `relations` has every head's accuracy for each relation, and `measures` the further numbers of every head from
    analyses; both can color the grid. `finds` of a kind is {index of a head: relations it is best at}, each with label,
    meaning and accuracy; `shows` likewise the behaviors it shows, and their size. `summaries` has the first line of
    every head in head order, its name and the rest of the line. `sentences` are the analyses' sentences on heads, if
    any; `notes` those for cards, as lists of parts, and `circuit` the arcs between heads. If heads are explained,
    `looks` are the categories of attention targets, and a kind has `looks` (each head's index into them), `explained`
    (the predicted share of non-sink attention) and `sink` (the share of attention on the sink) in head order. `guided`
    has the sentences on heads that were guided in training.
    """
    about = Context.of(run)
    kinds, words = about.kinds, about.words
    functions = functions_of(run)
    occurring = [name for name in NAMES if any(kind.occurs(name) for kind in kinds)]
    return {
        "schema": SCHEMA,
        "statistics": [
            {"name": name, "label": capital(words.statistics[name]), "share": is_share(name)} for name in occurring
        ],
        "relations": [
            {
                "name": f"finds {scores.function.name}",
                "label": f"Finds {scores.function.label}",
                "says": scores.function.description,
                "share": True,
                "values": {kind.name: _accuracies(scores.heads, kind) for kind in kinds},
            }
            for scores in functions
            if scores.function.is_relation and scores.heads is not None and not scores.overall
        ],
        "measures": [
            {
                "name": measure.name,
                "label": measure.label,
                "topic": measure.topic,
                "unit": "" if measure.unit == SHARE else measure.unit,
                "share": measure.unit == SHARE,
                "values": {kind.name: _significant(measure.values[kind.name]) for kind in kinds},
            }
            for measure in measures_of(about)
        ],
        **_looks(about),
        "roles": [
            {"name": name, "label": capital(words.roles[name]), **_role_words(ROLES[name], words)} for name in SHOWN
        ],
        "kinds": [
            {
                "kind": kind.name,
                "label": kind.noun,
                "layers": kind.layers,
                "heads": kind.heads_per_layer,
                **({"own": list(kind.model_layers)} if kind.model_layers else {}),
                "roles": [SHOWN.index(role if role in SHOWN else OTHERWISE) for role in kind.roles],
                **_looks_of(about, kind),
                "finds": finds_of(about.run, kind, functions),
                "shows": shows_of(kind, functions),
                "summaries": [
                    [summary.name, summary.rest] for summary in summaries_of_kind(about.run, kind, functions, words)
                ],
                "values": {name: _columns(kind, name) for name in occurring if kind.occurs(name)},
                **({"guided": guided} if (guided := guided_sentences(about.run.manifest, kind)) else {}),
                **_of_every_part(about, kind),
            }
            for kind in kinds
        ],
    }


def _looks(about: Context) -> dict[str, Any]:
    """Return the categories of attention targets; empty if the run explained no heads."""
    if not is_explained(about.run):
        return {}
    return {"looks": [{"name": look.color, "label": capital(about.words.fill(look.label))} for look in LOOKS.values()]}


def _looks_of(about: Context, kind: Kind) -> dict[str, Any]:
    if not is_explained(about.run):
        return {}
    colors, looks = list(LOOKS), looks_of(about.run, kind)
    return {
        "looks": [colors.index(look.color) for look in looks],
        "explained": json_numbers(np.array([look.explained for look in looks]).round(4)),
        "sink": json_numbers(np.array([look.sink for look in looks]).round(4)),
    }


def _of_every_part(about: Context, kind: Kind) -> dict[str, Any]:
    sentences: dict[int, str] = {}
    lines: dict[int, str] = {}
    notes: dict[int, list[Any]] = {}
    circuit: list[Sequence[Any]] = []
    for parts in every_part():
        sentences |= parts.head_sentences(about.run, kind)
        lines |= parts.card_lines(about.run, kind)
        circuit += parts.circuit(about.run, kind)
        for index, of_head in parts.card_sentences(about.run, kind).items():
            notes.setdefault(index, []).extend(_linked_parts(each) for each in of_head)
    every = {"sentences": sentences, "lines": lines, "notes": notes, "circuit": circuit}
    return {name: values for name, values in every.items() if values}


def _linked_parts(sentence: Sentence) -> list[str | list[str]]:
    """Return the parts of a sentence: text, or the text and the address of a head."""
    return [part if isinstance(part, str) else [part.text, part.anchor] for part in sentence.parts]


def _significant(values: np.ndarray) -> list[float | None]:
    """Return numbers of any size, rounded to four significant digits, null for NaN."""
    return [None if np.isnan(value) else float(f"{value:.4g}") for value in values]


def _accuracies(heads: pd.DataFrame, kind: Kind) -> list[float | int | None]:
    """Return the accuracy of every head of a kind for a relation, in head order: the better of two directions."""
    better = heads.groupby(["kind", "layer", "head"])["value"].max().reset_index()
    return json_numbers(kind.in_head_order(better, "value").round(4))


def _role_words(role: Role, words: Words) -> dict[str, Any]:
    """Return the phrases on a role's behavior, each with its statistic: the defining one and the one that shows it."""
    fields = {"statistic": role.statistic or None, "says": words.fill(role.phrase)}
    if not role.shown_by:
        return fields
    return fields | {"shown": {"statistic": role.shown_by, "says": words.fill(role.shown_says)}}


def _columns(kind: Kind, statistic: str) -> dict[str, Any]:
    values = kind.heads[statistic].reshape(-1, 5)
    out: dict[str, Any] = {"value": json_numbers(values[:, 0])}
    if np.isfinite(values[:, 1]).any():
        out["low"], out["high"] = json_numbers(values[:, 1]), json_numbers(values[:, 2])
    out["uniform"], out["n"] = _constant(json_numbers(values[:, 3])), _constant(json_numbers(values[:, 4]))
    return out


def _constant(values: list[float | int | None]) -> list[float | int | None] | float | int | None:
    """Return one number if all heads share it, as they do for n and uniform values."""
    return values[0] if len(set(values)) == 1 else values


def maps_block(about: Context, *, most: int | None = None) -> dict[str, Any]:
    """Return every head's maps on the shared sentences: {kind: sentences, each with its bytes in head order}.

    Args:
        about: the run.
        most: number of sentences from the first; all by default.
    """
    examples = about.run.examples
    shared = examples[examples["behavior"] == "shared"]
    return {kind.name: _maps(kind, shared[shared["kind"] == kind.name], most) for kind in about.kinds}


def _maps(kind: Kind, rows: pd.DataFrame, most: int | None) -> dict[str, Any]:
    sentences: list[dict[str, Any]] = []
    for _, group in list(rows.groupby(["document", "segment"], sort=False))[:most]:
        content: list[str | None] = [None] * kind.size
        for _, row in group.iterrows():
            content[kind.head_index(row["layer"], row["head"])] = packed(weights_of(row))
        queries, keys = ([str(token) for token in group[side].iloc[0]] for side in ("tokens", "keys"))
        pieces = [int(position) for position in group["continues_word"].iloc[0]]
        sentence = {"queries": shown_tokens(queries), "keys": shown_tokens(keys), "continues": pieces}
        sentences.append({**sentence, "bytes": content})
    return {"sentences": sentences}


def packed(weights: np.ndarray) -> str:
    """Return `weights [query, key]` in the script's format, in base64, each row's maximum to four digits."""
    largest = np.array([float(f"{value:.4g}") for value in weights.max(axis=1, initial=0.0)])
    return base64.b64encode(write_weights(weights, largest)).decode("ascii")


def shown_tokens(tokens: Sequence[str]) -> list[list[str]]:
    """Return each token as it is drawn, and in full if that differs."""
    return [list(dict.fromkeys((label(token), titled(token)))) for token in tokens]
