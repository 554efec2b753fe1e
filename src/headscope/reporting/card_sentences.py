"""Corpus sentences on a head's card: where it finds a relation, and where it is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from headscope.analyses.for_report import arc_examples, behavior_examples, functions_of
from headscope.present.cells import records
from headscope.present.figures.line_diagram import weights_of
from headscope.present.report_parts import Context
from headscope.present.study import Study
from headscope.present.values import once_a_study
from headscope.present.words import Words, short
from headscope.reporting.head_summary import finds_of, shows_of, strongest_behavior
from headscope.reporting.payload import packed, shown_tokens
from headscope.statistics.inference.significance import LARGE_SHARE
from headscope.visible import titled

_BEFORE = re.compile(r" (?=[.,;:!?)\]}%…]|['’]\w|n['’]t\b)")
_AFTER = re.compile(r"(?<=[(\[{]) ")
# Han, kana, their marks and wide forms, Thai, Lao, Burmese, Khmer: scripts without spaces between words. Korean has
# spaces.
_WITHOUT = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u312f\u31a0-\u9fff\uf900-\ufaff\uff00-\uff9f\U00020000-\U0003ffff"
)
_SHARED = "\u2014\u2018\u2019\u201c\u201d\u2026"  # marks that other scripts use too
_UNSPACED = re.compile(rf"(?<=[{_WITHOUT}]) (?=[{_WITHOUT}{_SHARED}])|(?<=[{_SHARED}]) (?=[{_WITHOUT}])")
TOP_EXAMPLES = "top_examples"
"""The table of sentences for the role of every head."""
LONGEST_TEXT = 2000
MANY_HEADS = 512
"""Limit on the heads of a kind: above it a page has less about each head, so that it opens quickly."""
FEW_TOKENS = 16


def joined(words: Sequence[str]) -> str:
    """Join words to a line of text, without a treebank's spaces before punctuation.

    Chinese, Japanese, Thai and other scripts without spaces have none between their words, nor around their marks.
    """
    return _AFTER.sub("", _BEFORE.sub("", _UNSPACED.sub("", " ".join(words))))


def shortened(row: dict[str, Any], *, most: int) -> dict[str, Any]:
    """Return a row of examples cut to the `most` neighboring tokens with most of its attention; short rows stay.

    Arcs that leave this window are dropped. If the keys are other tokens than the queries, they get their own window.
    """
    sides = ["tokens"] if "keys" not in row or "predicted" in row else ["tokens", "keys"]
    tokens = [str(token) for token in row["tokens"]]
    keys = tokens if len(sides) == 1 else [str(key) for key in row["keys"]]
    if max(len(tokens), len(keys)) <= most:
        return row
    weights = np.asarray(row["weights"], dtype=np.float64).reshape(len(tokens), len(keys))
    if keys == tokens:
        starts = range(len(tokens) - most + 1)
        first = max(starts, key=lambda at: float(weights[at : at + most, at : at + most].sum()))
        rows = columns = slice(first, first + most)
    else:
        rows, columns = (_heaviest(weights.sum(1 - axis), most) for axis in (0, 1))
    cut: dict[str, Any] = {"tokens": tokens[rows], "weights": weights[rows, columns].reshape(-1)}
    if len(sides) > 1:
        return {**row, **cut, "keys": keys[columns]}
    ends = [[int(position) - rows.start for position in row[name]] for name in ("queries", "keys", "predicted")]
    inside = [position for position, arc in enumerate(zip(*ends, strict=True)) if all(0 <= at < most for at in arc)]
    return {**row, **cut} | {
        name: [positions[position] for position in inside]
        for name, positions in zip(("queries", "keys", "predicted"), ends, strict=True)
    }


def _heaviest(line: np.ndarray, most: int) -> slice:
    """Return the window of a line of numbers with the largest sum."""
    first = max(range(max(1, len(line) - most + 1)), key=lambda at: float(line[at : at + most].sum()))
    return slice(first, first + most)


@once_a_study
def sentences_block(run: Study) -> dict[str, dict[int, list[dict[str, Any]]]]:
    """Return each head's sentences by kind and head index: first relations found, then behaviors, then its role.

    A sentence has `what` (relation, behavior or role), `name`, `label`, `outcome` (right or wrong, for relations),
    `value`, `on` (for behaviors, the input that the value refers to), `arcs` ([query, key, True if the head is right]),
    `tokens` and `keys` as they are drawn (`keys` None if they are the same), `bytes` of the weights, and `text`, to be
    typed into a view. In kinds with more than 512 heads, each head has only its first sentence, cut to 16 tokens.
    """
    about = Context.of(run)
    kinds = {kind.name: kind for kind in about.kinds}
    by_head: dict[str, dict[int, list[dict[str, Any]]]] = {name: {} for name in kinds}
    # Older runs lack this table, and have one sentence of the strongest head of each role.
    top_examples = run.tables.get(TOP_EXAMPLES)
    kept = top_examples if top_examples is not None else run.examples[run.examples["behavior"] != "shared"]
    tellers = (
        (_of_arcs, records(arc_examples(run))),
        (_of_behavior, _shown_behaviors(about)),
        (_of_role, records(kept)),
    )
    for entry_of, rows in tellers:
        for row in rows:
            if (kind := kinds.get(str(row["kind"]))) is None:
                continue
            entries = by_head[kind.name].setdefault(kind.head_index(row["layer"], row["head"]), [])
            if kind.size <= MANY_HEADS:
                entries.append(entry_of(row, about.words))
            elif not entries:
                entries.append(entry_of(shortened(row, most=FEW_TOKENS), about.words))
    return by_head


def first_sentences(about: Context) -> dict[str, dict[int, dict[str, Any]]]:
    """Return the sentence that shows each head's function best, by kind and head index.

    A head that finds a relation gets a sentence in which it finds it. A head whose first line says that it copies, or
    attends to the token after a copy, gets a sentence in which it does. Other heads get the clearest sentence of their
    role; in older runs, which have such a sentence only for the strongest head of each role, they get none. Kinds with
    more than 512 heads have their sentences only in the atlas.
    """
    roles_kept = about.run.tables.get(TOP_EXAMPLES) is not None
    every, functions = sentences_block(about.run), functions_of(about.run)
    out: dict[str, dict[int, dict[str, Any]]] = {}
    for kind in about.kinds:
        finds, shows = finds_of(about.run, kind, functions), shows_of(kind, functions)
        labels_of = {index: {entry["name"] for entry in chosen} for index, chosen in finds.items()}
        chosen = out.setdefault(kind.name, {})
        if kind.size > MANY_HEADS:
            continue
        for index, offers in every[kind.name].items():
            shown = [
                entry for entry in offers if entry["outcome"] == "right" and entry["label"] in labels_of.get(index, ())
            ]
            said = strongest_behavior(shows.get(index, ()), kind.roles[index])
            shown += [
                entry for entry in offers if said and (entry["what"], entry["name"]) == ("behavior", _named(said))
            ]
            shown += [entry for entry in offers if entry["what"] == "role" and roles_kept]
            if shown:
                chosen[index] = {name: value for name, value in shown[0].items() if name != "text"}
    return out


def _shown_behaviors(about: Context) -> Iterator[dict[str, Any]]:
    """Yield the sentences whose head shows the behavior, in text or on controlled inputs, and in the sentence too."""
    rows, functions = records(behavior_examples(about.run)), functions_of(about.run)
    for kind in about.kinds:
        shows = shows_of(kind, functions)
        for row in rows:
            entries = shows.get(kind.head_index(row["layer"], row["head"]), ()) if row["kind"] == kind.name else ()
            if row["value"] >= LARGE_SHARE and any(_named(entry) == row["behavior"] for entry in entries):
                yield row


def _named(entry: Mapping[str, Any]) -> str:
    """Return the behavior of an entry of `shows_of`, whether it is shown in text or on controlled inputs."""
    return str(entry["id"]).rpartition(".")[2]


def _of_arcs(row: Mapping[str, Any], words: Words) -> dict[str, Any]:
    name, outcome = str(row["relation"]), str(row["outcome"])
    # The prediction replaces the gold word: the key for dependent -> head, else the query.
    answered = row["keys"] if str(row["direction"]) != "head->dependent" else row["queries"]
    arcs = [
        [int(query), int(key), bool(int(gold) == int(answer))]
        for query, key, gold, answer in zip(row["queries"], row["keys"], answered, row["predicted"])
    ]
    first = {"what": "relation", "name": name, "label": short(name), "role": str(row["role"]), "outcome": outcome}
    return _entry(row, first, arcs=arcs, text=joined(_without_ends(_strings(row["tokens"]), words)))


def _of_behavior(row: Mapping[str, Any], words: Words) -> dict[str, Any]:
    behavior = str(row["behavior"])
    arcs = [[int(query), int(key), True] for query, key in zip(row["queries"], row["keys"], strict=True)]
    first = {"what": "behavior", "name": behavior, "label": behavior, "role": str(row["role"]), "outcome": None}
    return _entry(row, first, more={"on": str(row["on"])}, arcs=arcs, text=str(row["text"]))


def _of_role(row: Mapping[str, Any], words: Words) -> dict[str, Any]:
    behavior = str(row["behavior"])
    label = words.roles.get(behavior, titled(behavior))
    text = row["text"] if "text" in row else joined(_without_ends(_strings(row["tokens"]), words)).replace(" ##", "")
    first = {"what": "role", "name": behavior, "label": label, "role": behavior, "outcome": None}
    return _entry(row, first, keys=_strings(row["keys"]), text=str(text))


def _entry(
    row: Mapping[str, Any],
    first: Mapping[str, str | None],
    *,
    more: Mapping[str, str] | None = None,
    arcs: Sequence[list[Any]] = (),
    keys: list[str] | None = None,
    text: str,
) -> dict[str, Any]:
    """Return a sentence as described in `sentences_block`, fields in this order; `keys` if they differ from queries."""
    tokens = _strings(row["tokens"])
    keys = tokens if keys is None else keys
    return {
        **first,
        "value": round(float(row["value"]), 6) if np.isfinite(row["value"]) else None,
        **(more or {}),
        "arcs": list(arcs),
        "tokens": shown_tokens(tokens),
        "keys": None if keys == tokens else shown_tokens(keys),
        "bytes": packed(weights_of(pd.Series({"tokens": tokens, "keys": keys, "weights": row["weights"]}))),
        "text": text[:LONGEST_TEXT],
    }


def _strings(tokens: Iterable[Any]) -> list[str]:
    return [str(token) for token in tokens]


def _without_ends(tokens: list[str], words: Words) -> list[str]:
    """Remove the special tokens, by their names, from both ends."""
    special = {words.cls, words.sep}
    first = next((position for position, token in enumerate(tokens) if token not in special), len(tokens))
    last = next((position for position in range(len(tokens), first, -1) if tokens[position - 1] not in special), first)
    return tokens[first:last]
