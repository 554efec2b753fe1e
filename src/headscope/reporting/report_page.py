"""The report: one offline page on the attention of every head of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from headscope.analyses.for_report import every_part
from headscope.present.linked_sentences import HeadRef, Sentence
from headscope.present.report_parts import Context
from headscope.present.study import Study
from headscope.present.words import count, join, plain
from headscope.reporting.card_sentences import first_sentences
from headscope.reporting.payload import data_block, guided_line, maps_block
from headscope.reporting.provenance import counts, definitions, signature
from headscope.reporting.story import (
    GroupParts,
    findings,
    findings_list,
    group_html,
    groups_of_page,
    headline,
    meaning,
    more_terms,
)
from headscope.storage.atomic import write_bytes
from headscope.views.markup import Html, Page, assemble, el
from headscope.visible import short_name

WIDE_HEADS = 20
STYLES = (
    "core/base.css",
    "report/grid.css",
    "report/circuit.css",
    "report/sections.css",
    "report/relations.css",
    "report/heat.css",
    "report/print.css",
)


def write_report(run: Study, out_dir: Path, *, atlas: str | None = None) -> Path:
    """Write `report.html` atomically, and return its path.

    Args:
        run: the run.
        out_dir: folder of the run.
        atlas: address of the head atlas next to the page, to link to.

    Raises:
        OSError: the folder is not writable; existing files stay unchanged.
    """
    path = Path(out_dir) / "report.html"
    write_bytes(path, render_report(run, atlas=atlas).encode("utf-8"))
    return path


def render_report(run: Study, *, atlas: str | None = None) -> str:
    """Return the report as one self-contained HTML page.

    Args:
        run: the run.
        atlas: address of the head atlas next to the page, linked from the grid and each card.
    """
    about = replace(Context.of(run), findings=findings(run))
    name = plain(about.run.manifest["signature"]["model"]["name"])
    title = f"What does {short_name(name)} look at?"
    first = headline(about.findings)
    groups = groups_of_page(about, first)
    parts = el(
        "main",
        _first_screen(about, title, first, atlas),
        [group_html(about, group) for group in groups],
        _appendix(about),
        el("footer", el("p", f"Made by headscope {plain(about.run.manifest.get('headscope', ''))}.")),
    )
    skip = el("a", "Skip to the findings", href="#story", class_="skip")
    return assemble(
        Page(
            title=title,
            body=[skip, el("div", _rail(groups), parts, class_="columns")],
            data={
                "data": data_block(about.run),
                "maps": maps_block(about, most=1),
                "sentences": first_sentences(about),
            },
            entry="report/report.js",
            styles=STYLES,
        )
    )


def _rail(groups: Sequence[GroupParts]) -> Html:
    """Return the table of contents: every group with its sections, then the appendix."""
    appendix = GroupParts(name="appendix", title="Appendix", lead=None, sections=())
    links = [el("a", "Story", href="#story", class_="part")]
    for group in (*groups, appendix):
        inside = [(section.name, section.title) for section in group.sections]
        if group is appendix:
            inside = [("heads", "All heads"), ("how", "How these numbers were computed")]
        links.append(el("a", group.title, href=f"#group-{group.name}", class_="part"))
        links += [el("a", title, href=f"#section-{name}") for name, title in inside]
    button = el("button", "Contents", type="button", aria_controls="contents")
    return el("nav", button, el("div", links, id="contents"), aria_label="Sections")


def run_line(about: Context) -> str:
    """Return one line about the run: heads, layers, segments, documents, corpus, guided heads, date."""
    manifest = about.run.manifest
    read_counts, corpus = manifest["counts"], manifest["signature"]["corpus"]
    size = join([f"{count(kind.size, kind.noun)} in {count(kind.layers, 'layer')}" for kind in about.kinds])
    named = corpus.get("name")
    where = f" of {plain(named)}" if named else f" (corpus {plain(corpus['hash'])[:8]})"
    evaluated = [said for parts in every_part() for said in parts.read(manifest)]
    parts = [
        size,
        f"{count(int(read_counts['segments']), 'segment')} from "
        f"{count(int(read_counts['documents_used']), 'document')}{where}",
        *evaluated,
        guided_line(manifest),
        plain(manifest.get("created", ""))[:10],
    ]
    return " · ".join(part for part in parts if part)


def _first_screen(about: Context, title: str, first: Sequence[Sentence], atlas: str | None) -> Html:
    shown = next((part.anchor for finding in first for part in finding.parts if isinstance(part, HeadRef)), None)
    wide = max(kind.heads_per_layer for kind in about.kinds) > WIDE_HEADS
    left = el(
        "div",
        el("header", el("h1", title), el("p", run_line(about), class_="run")),
        findings_list(about, first),
        el(
            "section",
            el("div", el("h2", "Every head"), el("div", class_="tabs", id="kinds"),
               el("a", "Head atlas", href=atlas, id="atlas-link") if atlas else None,
               el("div", id="color-by"), class_="bar"),
            el("div", id="pinned", class_="pinned"),
            el("div", id="grid", class_="grid-box"),
            el("div", id="circuit") if has_circuit(about) else None,
            el("p", id="readout", class_="readout", aria_live="polite"),
            el("div", id="legend", class_="legend"),
            aria_label="Head grid",
        ),
        class_="left",
    )  # fmt: skip
    card = el(
        "aside", id="card", class_="card", aria_label="Head card", tabindex=-1, data_first=shown, data_atlas=atlas
    )
    noscript = el("noscript", el("p", "The grid, the cards and the table of heads need JavaScript; the rest does not."))
    return el("div", left, card, noscript, id="story", class_="first wide" if wide else "first")


def has_circuit(about: Context) -> bool:
    """Return True if the head grid of the first screen has the arcs of the circuit map."""
    (first, *_) = about.kinds
    return about.decoder_only and any(parts.circuit(about.run, first) for parts in every_part())


def _appendix(about: Context) -> Html:
    fold = el(
        "details",
        el("summary", el("b", "Tables and method"), ": every head, counts, definitions, signature"),
        _all_heads(),
        _provenance(about),
        class_="evidence",
    )
    command = el("code", "headscope export FOLDER --figures one")
    figures = el("p", "Every figure for a paper, as PDF and SVG: ", command, class_="caption")
    return el("section", el("h2", "Appendix"), fold, figures, id="group-appendix", class_="group")


def _all_heads() -> Html:
    return el(
        "section",
        el("h2", "All heads", meaning("glossary")),
        el("p", "Every statistic of every head, its 95% interval below it. Click a column’s name to sort.",
           class_="why"),
        el("div", id="filters", class_="filters"),
        el("div", id="heads", class_="scroll tall", tabindex=0, role="region", aria_label="Table of all heads"),
        el("p", id="heads-status", class_="caption", role="status"),
        el("h3", "Any two measures of all heads"),
        el("div", id="head-scatter"),
        id="section-heads",
    )  # fmt: skip


def _provenance(about: Context) -> list[Html]:
    manifest = about.run.manifest
    return [
        *(block for parts in every_part() for block in parts.closing(about)),
        el(
            "section",
            el("h2", "How these numbers were computed"),
            counts(manifest),
            el("details", el("summary", "What each number is"), definitions(about.words, more=more_terms(about))),
            signature(manifest),
            id="section-how",
        ),
    ]
