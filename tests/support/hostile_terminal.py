"""Texts that attack a terminal or a printing program, and the ways in which they reach headscope."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pandas as pd

from headscope.analyses.measurement import StageResult
from support.mock_coreference import with_coreference
from support.mock_inputs import encoder
from support.mock_probes import with_probes
from support.mock_syntax import with_treebank

TEXTS = {
    "closing markup": "[/x]",
    "markup": "[bold red]nsubj[/]",
    "link in markup": "[link=file:///etc/passwd]x[/link]",
    "emoji code": "subj:warning:obj",
    "backslash before markup": "a\\[b]",
    "unclosed bracket": "a[",
    "color": "\x1b[31mred",
    "clear screen": "\x1b[2J\x1b[H",
    "title": "\x1b]0;pwned\x07",
    "link": "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "clipboard": "\x1b]52;c;cm0gLXJm\x07",
    "answer back": "\x1b[6n\x1bZ",
    "device string": "\x1bP$qm\x1b\\",
    "C1 control": "\x9b31mred\x9c",
    "carriage return": "abc\rheadscope: all is well",
    "new line": "abc\nheadscope: wrote /etc/passwd",
    "CRLF and tab": "a\r\n\tb",
    "backspaces": "secret\b\b\b\b\b\bpublic",
    "bell and delete": "\a\x7f",
    "vertical tab and form feed": "a\vb\fc",
    "NUL": "a\0b",
    "lone surrogate": "a\udcffb",
    "high surrogate": "\ud800",
    "right to left override": "exe.\u202etxt.gnp",
    "isolates": "\u2066a\u2069\u2067b",
    "zero width": "ns\u200bu\u200dbj\u2060",
    "byte order mark": "\ufeffnsubj",
    "soft hyphen": "ns\u00adubj",
    "tags": "\U000e0068\U000e0069",
    "line separators": "a\u2028b\u2029c\x85d",
    "private and unassigned": "\ue000\U000f0000\u0378",
    "filler": "\u3164\u115f",
    "family": "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "tower": "a" + "\u0300" * 500,
    "non-character": "\uffff\ufffe",
    "percent and braces": "%s%n{0}{x!r}${HOME}`id`",
    "formula": '=HYPERLINK("http://evil.example","x")',
    "100,000 letters": "x" * 100_000,
    "100,000 escapes": "\x1b[31m" * 20_000,
    "100,000 brackets": "[" * 100_000,
}

# Texts that a table can hold: no reader passes a lone surrogate on, and no column of strings accepts one.
HELD = {name: text for name, text in TEXTS.items() if text.encode(errors="replace") == text.encode("utf-8", "ignore")}

# Ways to type a text (option value, file name, command) that are refused before anything is loaded.
TYPED: dict[str, Callable[[Path, str], list[str]]] = {
    "command": lambda folder, text: [text],
    "option": lambda folder, text: ["stats", f"--{text}"],
    "argument too many": lambda folder, text: ["atlas", text],
    "--text": lambda folder, text: ["stats", "--text", text],
    "--text of segments": lambda folder, text: ["segments", "--text", text],
    "--text of extract": lambda folder, text: ["extract", "--text", text],
    "--out of stats": lambda folder, text: ["stats", "--out", text],
    "--packing": lambda folder, text: ["stats", "--packing", text],
    "--batch-size": lambda folder, text: ["stats", "--batch-size", text],
    "--max-inputs": lambda folder, text: ["stats", "--max-inputs", text],
    "--head": lambda folder, text: ["view", "--head", text],
    "--matrix": lambda folder, text: ["cluster", "--matrix", text],
    "DIR of atlas": lambda folder, text: ["atlas", text, "--out", str(folder / "atlas")],
    "IN of convert": lambda folder, text: ["convert", text, str(folder / "out")],
}


@cache
def inputs():
    """Return one made-up run, whose names are changed for each text."""
    measured = [("nsubj", 400, 1, 2, "d", 80.0, 60.0, 1)]
    run = with_treebank(encoder(1, 2), measured=measured, documents=20)
    return with_probes(with_coreference(run, documents=20), documents=20, seeds=1)


def typed() -> Iterator[tuple[str, str, str]]:
    """Yield a name, a way and a text: each text by three ways, so that each kind of text comes by each way."""
    ways = list(TYPED)
    for place, (name, text) in enumerate(TEXTS.items()):
        for step in range(3):
            way = ways[(place + 5 * step) % len(ways)]
            yield f"{way}, {name}", way, text


def _as_result(column: str, text: str, *names: str, **facts: object) -> StageResult:
    """Return the result of a stage, as `show` of its command reads it, with `text` in a column of its tables."""
    run = inputs()
    tables = {name: _renamed(run.tables.get(name), column, text) for name in names}
    return StageResult(name=names[0], tables=tables, facts={**run.manifest, **facts})


def syntax_result(text: str) -> StageResult:
    """Return the result on a treebank with this relation and file name."""
    facts = {**inputs().manifest["treebank"], "name": text}
    return _as_result("relation", text, "syntax_best", "syntax", treebank=facts)


def coreference_result(text: str) -> StageResult:
    """Return the result on documents with this mention type, file name and reason for dropped mentions."""
    facts = {**inputs().manifest["coreference"], "name": text, "lost_why": {text: 3}, "max_length": 128}
    result = _as_result("mention_type", text, "coref", "coref_heads", coreference=facts)
    result.tables["coref"]["q_value"] = 0.001
    return result


def probe_result(text: str) -> StageResult:
    """Return the result on treebanks and word vectors of this name."""
    told = inputs().manifest["probes"]
    named = {part: {**told[part], "name": text} for part in ("train", "dev")}
    return _as_result("vectors", text, "probes", probes={**told, **named, "vectors": text})


def _renamed(table: pd.DataFrame, column: str, text: str) -> pd.DataFrame:
    # The column has dtype object, since Arrow does not accept a lone surrogate as a string.
    cells = table[column].astype(object)
    return table.assign(**{column: cells.where(cells != cells.iloc[0], text)})
