"""Coreference in the page: table 2 with intervals, the best heads, what was lost, and GAP by gender."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan

from headscope.analyses.coref.antecedent_results import Antecedents, SelectedHead, antecedents_of
from headscope.analyses.coref.findings import TOPIC, TYPES, lost
from headscope.report_kit.links import linked
from headscope.report_kit.numbers import DASH, accuracy_words, ends, formatted, joined, percent, share
from headscope.report_kit.pictures.strip import scale, strip
from headscope.report_kit.report_parts import Context, Section, section
from headscope.report_kit.tables.cells import NO_NUMBER, Cell, Runs, cell_of, number, records
from headscope.report_kit.tables.page_parts import folded, header_line, page_table, scrolled, share_cell
from headscope.report_kit.words import capital, plain
from headscope.study.paper import paper_numbers
from headscope.views.markup import Html, el

SYSTEM_NAMES = {
    "nearest": "Nearest candidate",
    "head match": "Same head word",
    "head match, else nearest": "Same head word, else nearest",
    "rules": "Four rules",
    "random": "Random",
    "first": "First name",
}
WHY = "Does a mention’s head word attend most, among the earlier mentions, to one of its own entity?"
MOST_HEADS = 10


def coreference_section(about: Context) -> list[Section]:
    """Build the section; none where the run has neither coreference nor GAP."""
    run = about.run
    table = antecedents_of(run)
    if table is None and run.tables.get("gap") is None:
        return []
    blocks: list[Html | None] = []
    if table is not None:
        blocks += linked(about.findings_on(TOPIC))
        if table.types:
            blocks.append(scrolled(table_2(table, about), "Antecedents found, by type of mention"))
            blocks.append(el("p", "Dot: accuracy on its 95% interval. Held-out: the head that halves of the documents "
                            "choose most often, on documents that did not choose it (cross-fitted); below it what "
                            "such a choice is worth on the other halves, and the head on all documents, too high "
                            "where heads are nearly equal. The paper’s way chooses and scores on the same "
                            "documents; what does without attention is of all.", class_="caption"))  # fmt: skip
            blocks.append(_best_heads(about))
        if read := " ".join(lost(run.manifest)):
            blocks.append(el("p", read, class_="caption"))
    blocks += _gap(about)
    return section("coref", "Coreference", WHY, blocks)


def table_2(table: Antecedents, about: Context) -> Html:
    """Return table 2: systems down, types of mention across, each number with its interval drawn and printed."""
    header = [
        el("th", capital(TYPES.get(name, plain(name))), el("small", f"n {table.counts[name]:,}"), scale(),
           scope="col", class_="picture")
        for name in table.types
    ]  # fmt: skip
    rows = []
    chosen = ((table.held_out, "held-out", True), (table.same_data, "the paper’s way: same documents", False))
    for selected, selection, strong in chosen:
        if selected is not None:
            rows.append(_head_row(selected, selection, table.types, about, strong))
    for system, cells in table.systems.items():
        label = el("th", SYSTEM_NAMES.get(system, plain(system)), scope="row")
        rows.append(el("tr", label, [_cell(cells.get(name), role="mixed") for name in table.types]))
    if table.control:
        seeds = max(runs.seeds for runs in table.control.values())
        label = el("th", "Best head, random weights", el("small", f"mean and range of {seeds} seeds" if seeds > 1
                                                         else "one seed"), scope="row")  # fmt: skip
        rows.append(el("tr", label, [_control(table.control.get(name)) for name in table.types]))
    bodies = [el("tbody", rows)]
    if about.run.is_bert_base:
        bodies.append(_paper(paper_numbers().get("table2", {}), table.types))
    return el("table", el("thead", el("tr", el("th", "system", scope="col"), header)), bodies, id="table-2",
              class_="relations")  # fmt: skip


def _head_row(head: SelectedHead, selection: str, types: Sequence[str], about: Context, strong: bool) -> Html:
    often = f", chosen in {percent(head.share, 0)} of halves" if not isnan(head.share) else ""
    if head.held_out.exists:
        on_all = accuracy_words(head.all_documents)
        often += f"; the choice is worth {accuracy_words(head.held_out)}; on all documents {on_all}"
    label = el("th", "Head ", about.kind(head.kind).head_link(head.layer, head.head), el("small", selection + often),
               scope="row")  # fmt: skip
    cells = []
    for name in types:
        other_head = head.other_heads.get(name)
        note = None
        if other_head is not None:
            note = el("small", "head ", about.kind(other_head[0]).head_link(*other_head[1:]))
        cells.append(_cell(head.cells.get(name), role="coreference", note=note, bold=strong))
    return el("tr", label, cells)


def _cell(cell: Cell | None, *, role: str, note: Html | None = None, bold: bool = False) -> Html:
    if cell is None or not cell.exists:
        return el("td", DASH, class_="picture")
    value = el("b", share(cell.value)) if bold else share(cell.value)
    return el("td", value, " ", el("small", ends(cell), class_="beside") if cell.has_interval else None,
              strip(cell, role=role), note, class_="picture")  # fmt: skip


def _control(runs: Runs | None) -> Html:
    if runs is None:
        return el("td", DASH, class_="picture")
    span = joined(runs.lowest, runs.highest)
    return el("td", share(runs.mean), " ", el("small", span, class_="beside") if runs.seeds > 1 else None,
              strip(NO_NUMBER, control=runs, role="mixed"), class_="picture")  # fmt: skip


def _paper(printed: Mapping[str, Mapping[str, object]], types: Sequence[str]) -> Html:
    heading = el(
        "tr", el("th", "In the paper, on OntoNotes", colspan=len(types) + 1, scope="rowgroup", class_="group")
    )
    rows = []
    for system, values in printed.items():
        name = f"Head {system}" if system[:1].isdigit() else capital(system)
        printed_here = [number(values.get(mention_type)) for mention_type in types]
        texts = [formatted(value, ".0f") for value in printed_here]
        numbers = [el("td", text, class_="picture") for text in texts]
        rows.append(el("tr", el("th", name, scope="row"), numbers))
    return el("tbody", heading, rows)


def _best_heads(about: Context) -> Html | None:
    rows = [row for row in records(about.run.tables.get("coref_heads")) if row["model"] == "trained"]
    by_head: dict[tuple[str, int, int], dict[str, Cell]] = {}
    for row in rows:
        head = (str(row["kind"]), int(row["layer"]), int(row["head"]))
        by_head.setdefault(head, {})[str(row["mention_type"])] = cell_of(row)
    with_cells = {head: cells for head, cells in by_head.items() if "all" in cells and cells["all"].exists}
    if not with_cells:
        return None
    best = sorted(with_cells.items(), key=lambda pair: (-pair[1]["all"].value, pair[0]))[:MOST_HEADS]
    types = [name for name in TYPES if any(name in cells for cells in with_cells.values())]
    header = header_line(["head", *(f"{TYPES[name]}, %" for name in types)])
    body = []
    for head, cells in best:
        numbers = [share_cell(cells.get(name)) for name in types]
        body.append(el("tr", el("th", about.kind(head[0]).head_link(*head[1:]), scope="row"), numbers))
    summary = f"Table: the {len(best)} best heads, on all documents"
    table = page_table([header], [el("tbody", body)], name="table-coreference-heads", class_="small")
    return folded(table, summary)


def _gap(about: Context) -> list[Html]:
    rows = records(about.run.tables.get("gap"))
    if not rows:
        return []
    columns = [
        (measure, gender) for measure in ("accuracy", "f1") for gender in ("all", "masculine", "feminine")
    ]
    present = {(str(row["measure"]), str(row["gender"])) for row in rows}
    columns = [column for column in columns if column in present]
    cells: dict[tuple[str, str], dict[tuple[str, str], Cell]] = {}
    names: dict[tuple[str, str], Html | str] = {}
    for row in rows:
        selection = row["selection"] if isinstance(row["selection"], str) else ""
        key = (str(row["system"]), selection)
        cells.setdefault(key, {})[(str(row["measure"]), str(row["gender"]))] = cell_of(row, "value")
        if key[0] == "head" and not isnan(number(row.get("layer"))):
            names[key] = about.kind(str(row["kind"])).head_link(row["layer"], row["head"])
    body = []
    for key, cell_of_column in cells.items():
        selection_text = {"held-out": "held-out", "same-data": "the paper’s way"}.get(key[1], plain(key[1]))
        label = ["Head ", names[key]] if key in names else SYSTEM_NAMES.get(key[0], plain(key[0]))
        body.append(
            el(
                "tr",
                el("th", label, el("small", selection_text) if selection_text else None, scope="row"),
                [share_cell(cell_of_column.get(column)) for column in columns],
            )
        )
    spans = [(measure, sum(name == measure for name, _ in columns)) for measure in ("accuracy", "f1")]
    labels = {"accuracy": "accuracy, %", "f1": "F1, %"}
    top = el(
        "tr",
        el("th"),
        [el("th", labels[measure], colspan=span, scope="colgroup") for measure, span in spans if span],
    )
    bottom = header_line(["system", *(gender for _, gender in columns)])
    table = page_table([top, bottom], [el("tbody", body)], name="table-gap", class_="small")
    return [
        el("h3", "GAP: which of two names a pronoun means"),
        el("p", "A name’s score is the attention from the pronoun to its last word. Accuracy counts rows with exactly "
           "one true name, F1 all rows. Held-out: the head that halves of the rows choose most often, on rows that did "
           "not choose it.", class_="caption"),
        scrolled(table, "GAP by gender"),
    ]  # fmt: skip
