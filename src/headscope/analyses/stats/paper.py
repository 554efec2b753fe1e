"""The paper's numbers on positions, special tokens and entropy, next to the measured numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from headscope.report_kit.kinds import Kind
from headscope.report_kit.linked_sentences import measured
from headscope.report_kit.numbers import percent
from headscope.report_kit.report_parts import Context, section
from headscope.report_kit.tables.cells import Cell
from headscope.report_kit.tables.page_rows import Table
from headscope.report_kit.words import join, plain
from headscope.study.paper_table import paper_numbers
from headscope.views.markup import Html


def paper_section(about: Context) -> list[Html]:
    """Tabulate the paper's numbers: next to the measured ones for its model, folded and alone for any other model."""
    kinds, printed = about.kinds, paper_numbers()
    source, numbers = plain(printed.get("source", "")), _paper_rows(printed["stats"])
    if about.run.is_bert_base and kinds and kinds[0].name == "encoder":
        title, why = "Beside the paper", f"Paper: {source}."
        table = Table(
            summary="Table: measured here and in the paper",
            header=("finding", "measured here", "paper"),
            rows=tuple((name, here, paper) for (name, paper), here in zip(numbers, _measured(kinds[0]), strict=True)),
            name="table-paper",
            words=(1, 2),
            opened=True,
        )
    else:
        title = "The paper"
        why = f"Numbers of another model, BERT-base, for orientation: {source}. This run’s model is not the paper’s."
        table = Table(
            summary="The paper’s numbers: paper (BERT-base)",
            header=("finding", "paper (BERT-base)"),
            rows=tuple(numbers),
            name="table-paper",
            words=(1,),
        )
    return [each.html for each in section("paper", title, why, [table.html()])]


def _paper_rows(stats: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the label and the value of every number in the paper."""
    previous, following = (", ".join(map(str, stats[f"{name}_over_0.5_in_layers"])) for name in ("previous", "next"))
    return [
        ("Layers of heads above 50% on the previous token", previous),
        ("Layers of heads above 50% on the next token", following),
        ("Attention to [SEP] in layers 6 to 10", _in_percent(stats["sep_share_layers_6_to_10"])),
        ("Attention of [SEP] to [SEP] where [SEP] dominates", _in_percent(stats["sep_to_sep"])),
        ("Entropy from [CLS] in the last layer", f"{stats['entropy_cls_last_layer_nats']} nats"),
        ("Largest weight of broad heads", f"at most {percent(stats['broad_heads_max_weight'])}"),
    ]


def _in_percent(statement: object) -> str:
    """Write the fractions of a statement in percent, as the rest of the report does."""
    return re.sub(r"0\.\d+", lambda share: percent(float(share.group())), str(statement))


def _measured(kind: Kind) -> list[str]:
    """Return the measured numbers in the order of `_paper_rows`."""
    dominated = [layer for layer, cell in kind.each_layer("sep") if cell.value > 0.5]
    return [
        _over_half(kind, "previous"),
        _over_half(kind, "next"),
        _layer_range(kind, "sep", [layer for layer in range(6, 11) if layer <= kind.layers]),
        _layer_range(kind, "sep_to_sep", dominated),
        _last_layer(kind, "entropy_cls"),
        _broad_peak(kind),
    ]


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


def _last_layer(kind: Kind, statistic: str) -> str:
    cell = kind.cell(statistic, kind.layers)
    return _with_interval(cell, statistic) if cell.exists else "cannot occur"


def _with_interval(cell: Cell, statistic: str) -> str:
    return "".join(measured(cell, statistic, long=False))


def _broad_peak(kind: Kind) -> str:
    broad = [cell for a, b, cell in kind.each("max_weight") if kind.role(a, b) == "broad"]
    return f"at most {percent(max(cell.value for cell in broad))} on average" if broad else "no broad heads"
