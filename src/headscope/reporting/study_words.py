"""Words of a study for Python and notebooks: findings, head cards, and the card of the study."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from headscope.attention.head_id import HeadId, head_anchor, head_label
from headscope.palette import palette
from headscope.present.study import Study
from headscope.present.values import Findings, HeadCard, HeadExample, StudyWords
from headscope.reporting.card_sentences import sentences_block
from headscope.reporting.head_summary import head_summaries
from headscope.reporting.story import findings, first_findings
from headscope.statistics.roles import ROLES

_CELL, _GAP, _LEFT, _TOP = 18, 2, 26, 16.0  # pixels
_STYLE = "font:13px/1.5 system-ui,sans-serif"
_ATLAS = "atlas/index.html"


def study_card(study: Study) -> str:
    """Return a study as HTML; all text from the model or the corpus is escaped.

    Raises:
        InputError: a file of the run is missing, or has changed since the run wrote it.
    """
    parts = [f"<p><b>headscope study</b> of {escape(study.summary())}</p>"]
    if "stats" in study.tables:
        roles = study.roles
        parts += [_grid(kind, roles[roles["kind"] == kind["kind"]]) for kind in study.manifest["kinds"]]
        parts.append(_legend(roles["role"]))
        findings = [f"<li>{escape(finding)}</li>" for finding in first_findings(study)]
        parts.append(f"<ul>{''.join(findings)}</ul>" if findings else "")
    parts.append(f"<p>{_link(study)}</p>")
    tables = escape(", ".join(study.tables))
    parts.append(f"<p><code>study.heads</code>: a row for each head. Tables: {tables}</p>")
    return f'<div style="{_STYLE}">{"".join(parts)}</div>'


def _grid(part: Mapping[str, Any], roles: pd.DataFrame) -> str:
    """Return a kind's head grid as SVG: layers as rows, heads as columns, colored by role."""
    rows = roles.to_dict("records")
    width = _LEFT + part["heads"] * (_CELL + _GAP)
    height = int(_TOP) + part["layers"] * (_CELL + _GAP)
    marks = [_text(_LEFT + _middle(head), _TOP - 5, head) for head in range(1, part["heads"] + 1)]
    marks += [_text(_LEFT / 2, _TOP + _middle(layer) + 4, layer) for layer in range(1, part["layers"] + 1)]
    for row in rows:
        layer, head = int(row["layer"]), int(row["head"])
        style = palette().roles[str(row["role"])]
        finds = [str(each) for each in row["finds"]]
        title = f"{part['kind']} {head_label(layer, head)}: {style.label}" + (
            f"; finds {', '.join(finds)}" if finds else ""
        )
        edge = f' stroke="{palette().page["ink"].light}" stroke-width="2"' if finds else ""
        x, y = (_LEFT + _middle(head) - _CELL / 2), (_TOP + _middle(layer) - _CELL / 2)
        marks.append(
            f'<rect x="{x:g}" y="{y:g}" width="{_CELL}" height="{_CELL}" rx="2" fill="{style.fill.light}"{edge}>'
            f"<title>{escape(title)}</title></rect>"
        )
    label = f"Heads of the {part['kind']} by role, layers as rows"
    return (
        f'<svg role="img" aria-label="{escape(label)}" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}"><title>{escape(label)}</title>{"".join(marks)}</svg>'
    )


def _middle(number: int) -> float:
    """Return the distance in pixels from the edge of the first cell to the center of cell `number`, from 1."""
    return (number - 0.5) * (_CELL + _GAP)


def _text(x: float, y: float, number: int) -> str:
    return f'<text x="{x:g}" y="{y:g}" font-size="10" text-anchor="middle" fill="currentColor">{number}</text>'


def _legend(roles: Iterable[Any]) -> str:
    """Return the roles that heads have, each with its color and its number of heads."""
    numbers = pd.Series(list(roles)).value_counts()
    entries = [
        f'<span style="white-space:nowrap;margin-right:1em"><span style="display:inline-block;width:.8em;height:.8em;'
        f'background:{palette().roles[name].fill.light}"></span> {escape(palette().roles[name].label)} '
        f"({numbers[name]})</span>"
        for name in ROLES
        if name in numbers.index
    ]
    return f"<p>{' '.join(entries)}</p>"


def _link(study: Study) -> str:
    """Return a link to the report; only the folder if the run has no page."""
    page = study.report_path
    if not page.exists():
        return f"Tables in <code>{escape(str(study.path))}</code>"
    resolved = page.resolve()
    here = Path.cwd()
    # A notebook server serves files below its own folder; only the browser can open a page elsewhere.
    address = resolved.relative_to(here).as_posix() if resolved.is_relative_to(here) else resolved.as_uri()
    return f'<a href="{escape(address)}" target="_blank">Open the report</a> <code>{escape(str(page))}</code>'


def study_findings(study: Study) -> Findings:
    """Return every sentence that a study supports, in the order of the report.

    Raises:
        InputError: a file of the run is missing, or has changed since the run wrote it.
    """
    return Findings(sentence.text for sentence in findings(study)) if "stats" in study.tables else Findings()


def head_cards(study: Study) -> Callable[[HeadId], HeadCard]:
    """Return a function that builds the card of a head; data shared by all heads is read once."""
    summaries = head_summaries(study)
    sentences = sentences_block(study)
    width = {part["kind"]: part["heads"] for part in study.manifest["kinds"]}
    roles = study.roles.set_index(["kind", "layer", "head"])["role"]
    atlas = study.path / _ATLAS

    def card(head: HeadId) -> HeadCard:
        layer, number = head.position
        entries = sentences[head.kind].get(layer * width[head.kind] + number, [])
        key = (head.kind, head.layer, head.head)
        anchor = head_anchor(head.kind, head.layer, head.head)
        return HeadCard(
            id=head,
            summary=summaries[key].text,
            examples=tuple(HeadExample(str(each["label"]), each["outcome"], str(each["text"])) for each in entries),
            role=str(roles[key]),
            address=f"{atlas.resolve().as_uri()}#{anchor}" if atlas.is_file() else "",
        )

    return card


def summary_lines(study: Study) -> dict[tuple[str, int, int], str]:
    """Return the first line of each head's card, by (kind, layer, head)."""
    return {head: summary.text for head, summary in head_summaries(study).items()}


STUDY_WORDS = StudyWords(card=study_card, findings=study_findings, head_cards=head_cards, summaries=summary_lines)
