"""The page of a comparison: two linked head grids, and the two heads of a pair on the same sentences."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from headscope.analyses.compare.facts import PAGE, HeadKey, differing, label_of, phrase_of, rows_of_head
from headscope.analyses.compare.pairs import CHANGED
from headscope.present.cells import records
from headscope.present.kinds import Kind
from headscope.present.report_parts import Context, linked
from headscope.present.study import Study
from headscope.present.words import capital, count, plain
from headscope.scans.declarations.head_measures import SHARE
from headscope.storage.atomic import write_bytes
from headscope.views.markup import Page, assemble, el
from headscope.views.quantize import write_weights
from headscope.visible import short_name

FILE = "compare.html"
STYLES = ("core/base.css", "report/grid.css", "report/sections.css", "report/compare.css", "report/print.css")
MOST_SHARES, MOST_OTHERS = 4, 2
"""Number of measures that a pair's card lists, the largest difference first: shares, and others."""


def write_page(study: Study) -> Path:
    """Write the page next to the manifest of a run, atomically, and return its path.

    Raises:
        OSError: the folder is not writable.
    """
    path = study.path / FILE
    write_bytes(path, render_comparison(study).encode("utf-8"))
    return path


def render_comparison(study: Study) -> str:
    """Return the comparison as one self-contained HTML page."""
    about = Context.of(study)
    manifest = study.manifest
    names = [short_name(plain(name)) for name in (manifest["signature"]["model"]["name"], manifest["compare"]["other"])]
    read, matched = manifest["counts"], manifest["compare"]["matched"]
    size = [f"{count(kind.size, kind.noun)} in {count(kind.layers, 'layer')}" for kind in about.kinds]
    documents = f"{count(int(read['segments']), 'segment')} from {count(int(read['documents_used']), 'document')}"
    grids = [
        el(
            "div",
            el("h2", el("small", f"{side} "), name),
            el("div", id=f"grid-{side}", class_="grid-box"),
            class_="side",
        )
        for side, name in zip("AB", names, strict=True)
    ]
    body = el(
        "main",
        el("h1", f"What {'is alike in' if matched else 'changed between'} {names[0]} and {names[1]}?"),
        el("p", " · ".join([*size, documents, plain(manifest.get("created", ""))[:10]]), class_="run"),
        linked(PAGE.findings(about)),
        el("p", meaning_of_change(manifest), class_="why"),
        el("div", class_="tabs", id="kinds"),
        el("section", grids, class_="sides", aria_label="Head grids"),
        el("p", id="readout", class_="readout", aria_live="polite"),
        el("p", el("span", class_="scale", aria_hidden="true"), el("span", id="scale"),
           el("span", el("i", class_="framed"), " match" if matched else " changed"), class_="legend"),
        el("article", id="pair", class_="card pair", aria_label="Pair of heads", tabindex=-1),
        el("noscript", el("p", "The grids and the pairs of heads need JavaScript; the rest does not.")),
        el("div", [section.html for section in PAGE.sections(about)], class_="evidence"),
        el("footer", el("p", f"Made by headscope {plain(manifest.get('headscope', ''))}.")),
    )  # fmt: skip
    data = {
        "names": names,
        **{name: manifest["compare"][name] for name in ("by_word", "margin")},
        "kinds": [_of_kind(about, kind) for kind in about.kinds if _pairs(about, kind)],
    }
    return assemble(
        Page(title=f"{names[0]} and {names[1]}", body=[body], data={"comparison": data}, entry=ENTRY, styles=STYLES)
    )


ENTRY = "report/compare_page.js"


def meaning_of_change(manifest: Mapping[str, Any]) -> str:
    """Return what the number of nats means, and the margin."""
    return (
        "Change: the Jensen-Shannon divergence between two heads' attention, mean over rows, in nats; 0 for equal "
        "attention, 0.69 for attention without a common token. "
        f"Up to {manifest['compare']['margin']:g} nats count as the same."
    )


def _pairs(about: Context, kind: Kind) -> list[dict[str, Any]]:
    """Return the pairs of a kind: the most changed first, or the most alike if they were matched."""
    table = about.run.tables["head_changes"]
    order = {"by": "change", "ascending": about.run.manifest["compare"]["matched"]}
    return records(table[table["kind"] == kind.name].sort_values(**order))


def _of_kind(about: Context, kind: Kind) -> dict[str, Any]:
    """Return the pairs of a kind of attention in order, with their differences and sentences."""
    facts = about.run.manifest["compare"]
    (layers, heads), matched = facts["shapes"][kind.name], facts["matched"]
    return {
        "kind": kind.name,
        "label": capital(kind.noun),
        "first": [kind.layers, kind.heads_per_layer],
        "second": [layers, heads],
        "pairs": [
            {
                "first": (row["layer"] - 1) * kind.heads_per_layer + row["head"] - 1,
                "second": (row["other_layer"] - 1) * heads + row["other_head"] - 1,
                **{name: number(row[name]) for name in ("change", "ci_low", "ci_high", "random_divergence")},
                "framed": row["match"] is True if matched else row["verdict"] == CHANGED,
                "verdict": _verdict(row, matched),
                "measures": _measures(about, row),
                "groups": _groups(about, row),
                "sentences": _sentences(about, row),
            }
            for row in _pairs(about, kind)
        ],
    }


def _verdict(row: dict[str, Any], matched: bool) -> str:
    if matched and isinstance(row["match"], bool):
        return "match" if row["match"] else "no match"
    return str(row["verdict"]) if isinstance(row["verdict"], str) else "not tested"


def _measures(about: Context, row: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the measures in which a pair differs, the largest difference first: shares, then others."""
    rows = records(differing(rows_of_head(about.run, "measure_changes", _key(row))))
    listed = [(each, *label) for each in rows if (label := label_of(about, each["column"])) is not None]
    shares, others = ([each for each in listed if (each[2] == SHARE) == share] for share in (True, False))
    numbers = ("first", "second", "difference", "ci_low", "ci_high")
    return [
        {"label": capital(label), "unit": unit, **{name: number(each[name]) for name in numbers}}
        for each, label, unit in (*shares[:MOST_SHARES], *others[:MOST_OTHERS])
    ]


def _groups(about: Context, row: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the groups that the explanation of a pair gained or lost, the largest difference first."""
    rows = rows_of_head(about.run, "compare_groups", _key(row))
    rows = rows[rows["verdict"].notna()].sort_values("difference", key=lambda each: -each.abs(), kind="stable")
    return [
        {"phrase": phrase_of(about, each["group"]), **{name: number(each[name]) for name in ("first", "second")}}
        for each in records(rows)
    ]


def _sentences(about: Context, row: dict[str, Any]) -> list[dict[str, Any]]:
    rows = rows_of_head(about.run, "compare_examples", _key(row)).sort_values("rank")
    return [{"first": _map(each, ""), "second": _map(each, "other_")} for each in records(rows)]


def _key(row: dict[str, Any]) -> HeadKey:
    return row["kind"], row["layer"], row["head"]


def _map(row: dict[str, Any], prefix: str) -> dict[str, Any]:
    queries, keys = ([plain(token) for token in row[prefix + name]] for name in ("tokens", "keys"))
    weights = np.asarray(row[prefix + "weights"], np.float32).reshape(len(queries), len(keys))
    return {"queries": queries, "keys": keys, "bytes": b64encode(write_weights(weights)).decode("ascii")}


def number(value: Any) -> float | None:
    """Return a number with six decimals for the page; None if it is missing."""
    return None if value is None or pd.isna(value) or not np.isfinite(value) else round(float(value), 6)
