"""The report: one offline page on what every head of a model looks at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from headscope.models.folder.shown import short_name
from headscope.reporting.findings import findings, headline
from headscope.reporting.kit.inputs import ReportInputs
from headscope.reporting.kit.kinds import Kind
from headscope.reporting.kit.links import linked
from headscope.reporting.kit.parts import Context
from headscope.reporting.kit.sentences import HeadRef, Sentence
from headscope.reporting.kit.words import count, join, plain, words_for
from headscope.reporting.parts import every_part, more_terms, write_figures
from headscope.reporting.payload import data_block, maps_block
from headscope.reporting.provenance import counts, definitions, paper_section, signature
from headscope.storage.atomic import write_bytes
from headscope.views.markup import Html, el
from headscope.views.page import Page, assemble

WIDE_HEADS = 20
STYLES = (
    "core/base.css",
    *(
        "report/grid.css",
        "report/sections.css",
        "report/relations.css",
        "report/heat.css",
        "report/print.css",
    ),
)


def write_report(inputs: ReportInputs, out_dir: Path, *, atlas: str | None = None) -> Path:
    """Write `report.html` and the figures it links, each whole or not at all, and return the page's path.

    Args:
        inputs: the run.
        out_dir: its folder.
        atlas: address of the head atlas beside the page, to link to.

    Raises:
        OSError: the folder cannot be written to; files that were there stay as they were.
    """
    out_dir = Path(out_dir)
    write_figures(inputs, out_dir / "figures")
    page = render_report(inputs, links=True, atlas=atlas)
    write_bytes(out_dir / "report.html", page.encode("utf-8"))
    return out_dir / "report.html"


def render_report(inputs: ReportInputs, *, links: bool = False, atlas: str | None = None) -> str:
    """Return the report as one self-contained HTML page.

    Args:
        inputs: the run.
        links: whether the page links `figures/figure-N.svg` and `.png` beside it.
        atlas: address of the head atlas beside it, linked at the grid and on each card.
    """
    found = findings(inputs)
    about = replace(Context.of(inputs), found=found, links=links)
    words, kinds = about.words, about.kinds
    name = plain(inputs.manifest["signature"]["model"]["name"])
    title = f"What does {short_name(name)} look at?"
    sections = [one for parts in every_part() for one in parts.sections(about) if one.html is not None]
    contents = [(one.name, one.title) for one in sections]
    contents += [("heads", "All heads"), ("how", "How these numbers were made")]
    parts = el(
        "main",
        _first_screen(inputs, kinds, title, headline(found), atlas),
        el(
            "nav",
            [el("a", heading, href=f"#section-{name}") for name, heading in contents],
            aria_label="Sections",
        ),
        [one.html for one in sections],
        _all_heads(),
        _provenance(inputs, kinds),
        el("footer", el("p", f"Made by headscope {plain(inputs.manifest.get('headscope', ''))}.")),
    )
    return assemble(
        Page(
            title=title,
            body=[parts],
            data={"data": data_block(inputs, kinds, words), "maps": maps_block(inputs, kinds)},
            entry="report/report.js",
            styles=STYLES,
        )
    )


def run_line(inputs: ReportInputs, kinds: Sequence[Kind]) -> str:
    """Say in one line what was run: heads, layers, segments, documents, corpus, date."""
    manifest = inputs.manifest
    told, corpus = manifest["counts"], manifest["signature"]["corpus"]
    several = len(kinds) > 1
    size = join(
        [
            f"{count(kind.size, f'{kind.name} head' if several else 'head')} in {count(kind.layers, 'layer')}"
            for kind in kinds
        ]
    )
    named = corpus.get("name")
    where = f" of {plain(named)}" if named else f" (corpus {plain(corpus['hash'])[:8]})"
    evaluated = [
        _evaluated(manifest, name, unit)
        for name, unit in (("treebank", "sentence"), ("coreference", "window"))
    ]
    parts = [
        size,
        f"{count(int(told['segments']), 'segment')} from {count(int(told['documents_used']), 'document')}{where}",
        *evaluated,
        plain(manifest.get("created", ""))[:10],
    ]
    return " · ".join(part for part in parts if part)


def _evaluated(manifest: Mapping[str, Any], name: str, unit: str) -> str:
    """Name a treebank or a coreference corpus with its size, nothing where the run has none."""
    told = manifest.get(name) or {}
    named = plain(told.get("name", ""))
    size = count(int(told[f"{unit}s"]), unit) if f"{unit}s" in told else ""
    return ", ".join(part for part in (named, size) if part)


def _first_screen(
    inputs: ReportInputs, kinds: Sequence[Kind], title: str, first: Sequence[Sentence], atlas: str | None
) -> Html:
    shown = next((part.anchor for one in first for part in one.parts if isinstance(part, HeadRef)), None)
    wide = max(kind.heads_per_layer for kind in kinds) > WIDE_HEADS
    left = el(
        "div",
        el("header", el("h1", title), el("p", run_line(inputs, kinds), class_="run")),
        el("ul", linked(first, tag="li", class_=None), class_="findings"),
        el(
            "section",
            el("div", el("h2", "Every head"), el("div", class_="tabs", id="kinds"),
               el("a", "Head atlas", href=atlas, id="atlas-link") if atlas else None,
               el("div", id="colour-by"), class_="bar"),
            el("div", id="grid", class_="grid-box"),
            el("p", id="readout", class_="readout", aria_live="polite"),
            el("div", id="legend", class_="legend"),
            aria_label="Head grid",
        ),
        class_="left",
    )  # fmt: skip
    card = el(
        "aside",
        id="card",
        class_="card",
        aria_label="Head card",
        tabindex=-1,
        data_first=shown,
        data_atlas=atlas,
    )
    noscript = el(
        "noscript", el("p", "The grid, the cards and the table of heads need JavaScript; the rest does not.")
    )
    return el("div", left, card, noscript, class_="first wide" if wide else "first")


def _all_heads() -> Html:
    return el(
        "section",
        el("h2", "All heads"),
        el("p", "Every statistic of every head, its 95% interval below it. Click a column’s name to sort.",
           class_="why"),
        el("div", id="filters", class_="filters"),
        el("div", id="heads", class_="scroll tall", tabindex=0, role="region", aria_label="Table of all heads"),
        el("p", id="heads-status", class_="caption", role="status"),
        id="section-heads",
    )  # fmt: skip


def _provenance(inputs: ReportInputs, kinds: Sequence[Kind]) -> list[Html | None]:
    words = words_for(inputs.manifest)
    return [
        paper_section(inputs, kinds, words),
        el(
            "section",
            el("h2", "How these numbers were made"),
            counts(inputs.manifest),
            el("details", el("summary", "What each number is"), definitions(words, more=more_terms(inputs))),
            signature(inputs.manifest),
            id="section-how",
        ),
    ]
