"""Coreference in the page: table 2 with intervals, the best heads, skipped mentions, and GAP by gender."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import isnan

from headscope.analyses.coref.antecedent_results import Antecedents, SelectedHead, antecedents_of
from headscope.analyses.coref.findings import TOPIC, TYPES, lost
from headscope.report_kit.captions import caption, captioned
from headscope.report_kit.links import linked
from headscope.report_kit.numbers import DASH, accuracy_words, ends, formatted, joined, percent, share
from headscope.report_kit.pictures.strip import scale, strip
from headscope.report_kit.report_parts import Context, Section, section
from headscope.report_kit.tables.cells import NO_NUMBER, Cell, Runs, cell_of, number, records
from headscope.report_kit.tables.page_parts import folded, group_body, page_table, scrolled, share_cell
from headscope.report_kit.words import capital, plain
from headscope.study.paper_table import paper_numbers
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
_CAPTION = (
    "Dot: accuracy on its 95% interval. The first head is cross-fitted, the one that halves of the documents select "
    "most often; below it what such a selection is worth held out, and on all documents. The paper’s way selects and "
    "scores on the same documents; what does without attention is of all."
)
_GAP_CAPTION = (
    "A name’s score is the attention from the pronoun to its last word. Accuracy counts rows with exactly one true "
    "name, F1 all rows. Held-out: the head that halves of the rows select most often, on rows that did not select it."
)


def coreference_section(about: Context) -> list[Section]:
    """Build the section; empty where the run has neither coreference nor GAP."""
    return section("coref", "Coreference", WHY, _blocks(about))


def _blocks(about: Context) -> Iterator[Html | None]:
    table = antecedents_of(about.run)
    if table is not None:
        key, read = _CAPTION if table.types else "", " ".join(lost(about.run.manifest))
        yield captioned(linked(about.findings_on(TOPIC)), caption(key), caption(read))
        if table.types:
            yield scrolled(table_2(table, about), "Antecedents found, by type of mention")
            yield _best_heads(about)
    yield from _gap(about)


def table_2(table: Antecedents, about: Context) -> Html:
    """Return table 2: systems as rows, types of mention as columns, each number with its interval as mark and text."""
    header = [
        el("th", capital(TYPES.get(name, plain(name))), el("small", f"n {table.counts[name]:,}"), scale(),
           scope="col", class_="picture")
        for name in table.types
    ]  # fmt: skip
    chosen = ((table.held_out, "held-out", True), (table.same_data, "the paper’s way: same documents", False))
    rows = [
        _head_row(selected, selection, table.types, about, strong)
        for selected, selection, strong in chosen
        if selected is not None
    ]
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
    notes = {
        name: el("small", "head ", about.kind(kind).head_link(layer, number))
        for name, (kind, layer, number) in head.other_heads.items()
    }
    cells = [_cell(head.cells.get(name), role="coreference", note=notes.get(name), bold=strong) for name in types]
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
    rows = []
    for system, values in printed.items():
        name = f"Head {system}" if system[:1].isdigit() else capital(system)
        texts = [formatted(number(values.get(mention_type)), ".0f") for mention_type in types]
        cells = [el("td", text, class_="picture") for text in texts]
        rows.append(el("tr", el("th", name, scope="row"), cells))
    return group_body("In the paper, on OntoNotes", rows, columns=len(types) + 1)


def _best_heads(about: Context) -> Html | None:
    by_head: dict[tuple[str, int, int], dict[str, Cell]] = {}
    for row in records(about.run.tables.get("coref_heads")):
        if row["model"] == "trained":
            head = (str(row["kind"]), int(row["layer"]), int(row["head"]))
            by_head.setdefault(head, {})[str(row["mention_type"])] = cell_of(row)
    measured = [(head, cells) for head, cells in by_head.items() if "all" in cells and cells["all"].exists]
    if not measured:
        return None
    best = sorted(measured, key=lambda pair: (-pair[1]["all"].value, pair[0]))[:MOST_HEADS]
    types = [name for name in TYPES if any(name in cells for _, cells in measured)]
    body = [
        el(
            "tr",
            el("th", about.kind(kind).head_link(layer, head), scope="row"),
            [share_cell(cells.get(name)) for name in types],
        )
        for (kind, layer, head), cells in best
    ]
    titles = ["head", *(f"{TYPES[name]}, %" for name in types)]
    table = page_table(titles, {"": body}, name="table-coreference-heads", class_="small")
    return folded(table, f"Table: the {len(best)} best heads, on all documents")


def _gap(about: Context) -> Iterator[Html]:
    rows = records(about.run.tables.get("gap"))
    if not rows:
        return
    cells: dict[tuple[str, str], dict[tuple[str, str], Cell]] = {}
    names: dict[tuple[str, str], Html | str] = {}
    for row in rows:
        key = (str(row["system"]), row["selection"] if isinstance(row["selection"], str) else "")
        cells.setdefault(key, {})[str(row["measure"]), str(row["gender"])] = cell_of(row, "value")
        if key[0] == "head" and not isnan(number(row.get("layer"))):
            names[key] = about.kind(str(row["kind"])).head_link(row["layer"], row["head"])
    labels = {"accuracy": "accuracy, %", "f1": "F1, %"}
    columns = [
        column
        for column in product(labels, ("all", "masculine", "feminine"))
        if any(column in of_system for of_system in cells.values())
    ]
    body = []
    for key, of_system in cells.items():
        system, selection = key
        selection_text = {"held-out": "held-out", "same-data": "the paper’s way"}.get(selection, plain(selection))
        label = ["Head ", names[key]] if key in names else SYSTEM_NAMES.get(system, plain(system))
        name = el("th", label, el("small", selection_text) if selection_text else None, scope="row")
        body.append(el("tr", name, [share_cell(of_system.get(column)) for column in columns]))
    spans = Counter(measure for measure, _ in columns)
    groups = [el("th", labels[measure], colspan=span, scope="colgroup") for measure, span in spans.items()]
    titles, above = ["system", *(gender for _, gender in columns)], el("tr", el("td"), groups)
    table = page_table(titles, {"": body}, name="table-gap", class_="small", above=above)
    yield el("h3", "GAP: which of two names a pronoun means")
    yield captioned(scrolled(table, "GAP by gender"), caption(_GAP_CAPTION))
