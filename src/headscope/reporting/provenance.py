"""How the numbers were made: definitions in short, what was read and left out, the signature, the paper's numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from headscope.reporting.kit.cells import Cell
from headscope.reporting.kit.inputs import ReportInputs
from headscope.reporting.kit.kinds import Kind
from headscope.reporting.kit.rules import LEAST_SHARE
from headscope.reporting.kit.sentences import measured
from headscope.reporting.kit.tables import Table
from headscope.reporting.kit.words import (
    Words,
    capital,
    count,
    join,
    percent,
    plain,
)
from headscope.statistics.confidence import FEWEST_DOCUMENTS
from headscope.statistics.roles import BROAD_RATIO
from headscope.views.markup import Html, el, raw


def definitions(words: Words, *, more: Sequence[tuple[str, str]] = ()) -> Html:
    """Say in short what each number is; `more` are the terms of sections that not every run has."""
    cls, sep = words.cls, words.sep
    entries = (
        ("Previous, next, current token", "weight on the position before, after, or of the token that attends; the "
         "first token’s previous and the last one’s next are 0, and those rows count"),
        (f"{capital(cls)}, {sep}, period or comma", "total weight on keys of that class; classes go by token id"),
        (f"{sep} to {sep}, other to {sep}", f"weight on {sep} from rows that are {sep}, and from all other rows"),
        ("Entropy", f"−Σ w ln w of a row, in nats, averaged over rows; from {cls}: of its row only"),
        ("Largest weight", "the largest weight of a row, averaged over rows"),
        ("Uniform", "what the same statistic would be if attention were spread evenly over all visible tokens"),
        ("Average", "over a segment’s rows, then over segments; n counts segments that have such a row"),
        ("95% interval", "Student’s t over documents, shares by Wilson’s bound; none with fewer than "
         f"{FEWEST_DOCUMENTS} documents"),
        ("Role", f"the first that holds: period or comma, {sep}, {cls} above 60%; broad, entropy above "
         f"{percent(BROAD_RATIO)} of uniform; previous, next above 50%; else mixed. Roles go by the averages; "
         "sentences go by the intervals"),
        ("Stands out", f"the lower end of the interval lies above {percent(LEAST_SHARE)} and above twice uniform"),
    )  # fmt: skip
    return el("dl", [[el("dt", term), el("dd", meaning, ".")] for term, meaning in (*entries, *more)])


def counts(manifest: Mapping[str, Any]) -> list[Html]:
    """Say what was read, cut and left out."""
    told = manifest["counts"]
    used, all_documents = int(told["documents_used"]), int(told["documents"])
    out = [
        el(
            "p",
            f"Read {count(all_documents, 'document')}, used {used:,}: {count(int(told['segments']), 'segment')}, "
            f"{count(int(told['tokens']), 'token')}.",
        )
    ]
    cut, skipped = int(told.get("truncated", 0)), int(told.get("skipped", 0))
    why_skipped = dict(told.get("skipped_why", {}))
    reasons = [f"{plain(reason)}: {int(number):,}" for reason, number in why_skipped.items()]
    if cut or skipped:
        why = f" ({'; '.join(reasons)})" if reasons else ""
        out.append(el("p", f"Cut to the length limit: {cut:,}. Skipped: {skipped:,}{why}."))
    else:
        out.append(el("p", "Nothing was cut to the length limit and nothing was skipped."))
    notes = [plain(note) for note in manifest.get("notes", [])]
    return [*out, el("ul", [el("li", note) for note in notes])] if notes else out


def signature(manifest: Mapping[str, Any]) -> Html:
    """Fold the signature: all that these numbers depend on."""
    rows = [
        (name, plain(manifest.get(key, ""))) for name, key in (("command", "command"), ("made", "created"))
    ]
    rows = [row for row in rows if row[1]]
    rows += _flat("", manifest["signature"])
    rows += [(f"timings {name}", str(value)) for name, value in dict(manifest.get("timings", {})).items()]
    rows.append(("tap", plain(manifest.get("tap", ""))))
    body = [el("tr", el("th", name, scope="row"), el("td", value, class_="words")) for name, value in rows]
    table = el("table", el("tbody", body), id="table-signature")
    box = el("div", table, class_="scroll", tabindex=0, role="region", aria_label="Signature")
    return el("details", el("summary", f"Signature {plain(manifest['signature'].get('id', ''))}"), box)


def _flat(prefix: str, value: object) -> list[tuple[str, str]]:
    if isinstance(value, Mapping):
        return [row for key, inner in value.items() for row in _flat(f"{prefix} {plain(key)}".strip(), inner)]
    if value is None:
        return [(prefix, "none")]
    written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return [(prefix, plain(written))]


def paper_section(inputs: ReportInputs, kinds: Sequence[Kind], words: Words) -> Html | None:
    """Put the paper's numbers beside the measured ones for its model, apart and folded for any other."""
    if inputs.paper is None:
        return None
    source = plain(inputs.paper.get("source", ""))
    if inputs.is_bert_base and kinds and kinds[0].name == "encoder":
        table = Table(
            summary="Table: measured here and in the paper",
            groups=(),
            header=("finding", "measured here", "paper"),
            rows=tuple(_beside(inputs.paper["surface"], kinds[0], words)),
            name="table-paper",
            words=(1, 2),
        ).html()
        return el("section", el("h2", "Beside the paper"), el("p", f"Paper: {source}.", class_="why"),
                  _opened(table), id="section-paper")  # fmt: skip
    rows = tuple((name, paper) for name, _, paper in _paper_rows(inputs.paper["surface"]))
    table = Table(
        summary="The paper’s numbers: paper (BERT-base)",
        groups=(),
        header=("finding", "paper (BERT-base)"),
        rows=rows,
        name="table-paper",
        words=(1,),
    ).html()
    return el(
        "section",
        el("h2", "The paper"),
        el("p", f"Numbers of another model, BERT-base, for orientation: {source}. This run’s model is not the paper’s.",
           class_="why"),
        table,
        id="section-paper",
    )  # fmt: skip


def _opened(details: Html) -> Html:
    return details.replace("<details>", raw("<details open>"), 1)


def _paper_rows(surface: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """(finding, key, the paper's statement) for every surface number that the paper prints."""
    layers = {key: ", ".join(str(layer) for layer in surface[key])
              for key in ("previous_over_0.5_in_layers", "next_over_0.5_in_layers")}  # fmt: skip
    return [
        ("Layers of heads above 50% on the previous token", "previous", layers["previous_over_0.5_in_layers"]),
        ("Layers of heads above 50% on the next token", "next", layers["next_over_0.5_in_layers"]),
        ("Attention to [SEP] in layers 6 to 10", "sep", _in_percent(surface["sep_share_layers_6_to_10"])),
        ("Attention of [SEP] to [SEP] where [SEP] dominates", "sep_to_sep", _in_percent(surface["sep_to_sep"])),
        ("Entropy from [CLS] in the last layer", "entropy_cls", f"{surface['entropy_cls_last_layer_nats']} nats"),
        ("Largest weight of broad heads", "max_weight", f"at most {percent(surface['broad_heads_max_weight'])}"),
    ]  # fmt: skip


def _in_percent(statement: object) -> str:
    """Write the fractions of a statement in percent, as the rest of the report does."""
    return re.sub(r"0\.\d+", lambda share: percent(float(share.group())), str(statement))


def _beside(surface: Mapping[str, Any], kind: Kind, words: Words) -> list[tuple[str, str, str]]:
    measured = {
        "previous": _over_half(kind, "previous"),
        "next": _over_half(kind, "next"),
        "sep": _layer_range(kind, "sep", [layer for layer in range(6, 11) if layer <= kind.layers]),
        "sep_to_sep": _layer_range(
            kind, "sep_to_sep", [layer for layer, cell in kind.each_layer("sep") if cell.value > 0.5]
        ),
        "entropy_cls": _one(kind, "entropy_cls"),
        "max_weight": _broad_peak(kind),
    }
    return [(name, measured[key], paper) for name, key, paper in _paper_rows(surface)]


def _over_half(kind: Kind, statistic: str) -> str:
    layers = [str(layer) for layer, _, cell in kind.each(statistic) if cell.value > 0.5]
    return ", ".join(layers) or "none"


def _layer_range(kind: Kind, statistic: str, layers: Sequence[int]) -> str:
    cells = [kind.cell(statistic, layer) for layer in layers]
    cells = [cell for cell in cells if cell.exists]
    if not cells:
        return "no such layer"
    shares = [_with_interval(cell, statistic) for cell in cells]
    return f"{join(shares)} in {'layer' if len(layers) == 1 else 'layers'} {join([str(layer) for layer in layers])}"


def _one(kind: Kind, statistic: str) -> str:
    cell = kind.cell(statistic, kind.layers)
    if not cell.exists:
        return "cannot occur"
    return _with_interval(cell, statistic)


def _with_interval(cell: Cell, statistic: str) -> str:
    return "".join(measured(cell, statistic, long=False))


def _broad_peak(kind: Kind) -> str:
    broad = [cell for a, b, cell in kind.each("max_weight") if kind.role(a, b) == "broad"]
    return f"at most {percent(max(cell.value for cell in broad))} on average" if broad else "no broad heads"
