"""What each head attends to, explained on documents that fitted nothing."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.columns import Columns
from headscope.analyses.explanation.example_rows import HeldOutRows
from headscope.analyses.explanation.feature import TOKENS
from headscope.analyses.explanation.greedy import Selector
from headscope.analyses.explanation.halves import Half, LayerHalves
from headscope.analyses.explanation.held_out import HeadExplanation, Prediction, measure_heads
from headscope.analyses.explanation.logit import Target, fit
from headscope.analyses.explanation.refit import fit_positions
from headscope.analyses.explanation.sample_design import SampleDesign
from headscope.analyses.explanation.screening import Fit
from headscope.analyses.explanation.tables import MEASURES, NON_SINK, NORM, WEIGHT
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS

_ROUGHLY = 1e-2
"""Tolerance of the fits that divide the explained share among groups, and of where the last one starts."""


Explanations = dict[str, list[HeadExplanation]]
"""Of the heads of a layer, `[head]` by measure."""


def explain(
    sample: SampleDesign,
    layers: Sequence[int],
    measures: Sequence[str] = MEASURES,
    *,
    positions: bool = False,
    parities: Sequence[int] = (0, 1),
    threads: int = 1,
) -> list[Explanations]:
    """Explain every head of some layers.

    Args:
        sample: the rows.
        layers: from 0.
        measures: of `MEASURES`; `NON_SINK` goes with `WEIGHT`.
        positions: whether weights are predicted from positions alone, too.
        parities: which documents fit, by turns: those of even number, those of odd; the others measure.
        threads: number of layers that are explained at once, which changes no digit.
    """
    results: dict[int, Explanations] = {layer: {} for layer in layers}
    enough = len(sample.names) >= FEWEST_DOCUMENTS
    with ThreadPoolExecutor(threads) as pool:
        for measure, predicted in ((WEIGHT, (WEIGHT, NON_SINK)), (NORM, (NORM,))):
            names = [name for name in measures if name in predicted]
            for parity in (parities if enough else (0,)) if names else ():
                tasks = _tasks(sample, results, measure, names, parity=parity, positions=positions)
                # The sums of a layer take one half after the other, so that no order of threads changes a digit.
                for _ in pool.map(lambda task: task(), tasks):
                    pass
    for result in results.values():
        for of_weight, of_content in zip(result.get(WEIGHT, ()), result.get(NON_SINK, ()), strict=False):
            for name in ("fits", "pulls", "alternatives", "tokens"):
                setattr(of_content, name, getattr(of_weight, name))
    return list(results.values())


def _tasks(
    sample: SampleDesign,
    results: Mapping[int, Explanations],
    measure: str,
    names: Sequence[str],
    *,
    parity: int,
    positions: bool,
) -> Iterator[Callable[[], None]]:
    """Yield what explains a layer's heads by one half of the documents, for each layer that has the measure.

    Args:
        sample: the rows.
        results: of each layer.
        measure: `WEIGHT` or `NORM`.
        names: what is measured of its predictions.
        parity: of the documents that fit.
        positions: whether weights are predicted from positions alone, too.
    """
    halves, number = LayerHalves(sample, parity), (WEIGHT, NORM).index(measure)
    for layer, result in results.items():
        attention, visible = sample.attention(number, layer), sample.visible_in(layer, number)
        if np.isnan(attention).all():
            continue
        of_layer = {name: result.setdefault(name, _empty(len(sample.names), len(attention))) for name in names}
        if len(sample.names) < FEWEST_DOCUMENTS:
            yield partial(_explain_nothing, sample, visible, attention, of_layer)
            continue
        half = halves.of(visible)
        yield partial(_explain_half, sample, half, attention, of_layer, positions=positions and measure == WEIGHT)


def _explain_half(
    sample: SampleDesign, half: Half, attention: NDArray[np.float32], results: Explanations, *, positions: bool
) -> None:
    """Explain a layer's heads by one half of the documents, measured on the other."""
    targets = [Target.of(each[half.measured_cells], half.measured) for each in attention]
    selector = Selector(half.split)
    heads = next(iter(results.values()))
    predictions = [
        _predict(half, each, *selector.select(each), result) for each, result in zip(attention, heads, strict=True)
    ]
    if positions:
        for each, result in zip(fit_positions(half, attention), heads, strict=True):
            result.fits.positions.append(each)
    rows = HeldOutRows(
        design=half.measured,
        documents=sample.documents[half.measured_rows],
        numbers=half.measured_rows,
        cells=half.measured_cells,
    )
    _measure(sample, rows, targets, predictions, results, examples=True)


def _explain_nothing(
    sample: SampleDesign, visible: NDArray[np.bool_] | None, attention: NDArray[np.float32], results: Explanations
) -> None:
    """Measure what there is to explain where documents are too few to explain it."""
    design = sample.design if visible is None else sample.design.restricted(visible)
    cells = np.arange(sample.design.n_cells) if visible is None else np.flatnonzero(visible)
    targets = [Target.of(each[cells], design) for each in attention]
    nothing = [Prediction((), np.zeros((1, design.n_cells)))] * len(attention)
    numbers = np.arange(len(sample.documents))
    rows = HeldOutRows(design=design, documents=sample.documents, numbers=numbers, cells=cells)
    _measure(sample, rows, targets, nothing, results, examples=False)


def _measure(
    sample: SampleDesign,
    rows: HeldOutRows,
    targets: list[Target],
    predictions: list[Prediction],
    results: Explanations,
    *,
    examples: bool,
) -> None:
    """Measure predictions by each measure, with examples of rows by weight."""
    for name, of_measure in results.items():
        content = ~sample.is_sink[rows.cells] if name == NON_SINK else None
        measure_heads(of_measure, predictions, targets, rows, content, examples=examples and name == WEIGHT)


def _empty(documents: int, heads: int) -> list[HeadExplanation]:
    return [
        HeadExplanation(np.zeros(documents), np.zeros(documents), np.zeros((heads, documents))) for _ in range(heads)
    ]


def _predict(
    half: Half,
    attention: NDArray[np.float32],
    selected: Fit,
    alternatives: Sequence[tuple[str, ...]],
    result: HeadExplanation,
) -> Prediction:
    """Fit the selected groups on a half, and the first of them alone, and predict the attention of the other half."""
    target = Target.of(attention[half.fitted_cells], half.fitted)
    columns = Columns(half.fitted, selected.groups, selected.columns.token_ridge)
    roughly = fit(columns.first(len(selected.groups), np.float32), target, selected.coefficients, tolerance=_ROUGHLY)
    whole = fit(columns, target, roughly)
    steps = [whole]
    for number in range(len(selected.groups) - 1, 0, -1):
        fewer = columns.first(number, np.float32)
        start = steps[-1][: len(fewer.ridge)]
        steps.append(np.pad(fit(fewer, target, start, tolerance=_ROUGHLY), (0, len(whole) - len(start))))
    if selected.groups:
        steps.append(np.zeros(len(whole)))
    measured = Columns(half.measured, selected.groups)
    logits = [measured.logits(coefficients) for coefficients in steps]
    even = np.repeat(target.mass / half.fitted.lengths, half.fitted.lengths)
    pulls = whole * columns.sums(target.attention - even) / target.n_rows
    result.fits.explained.append({group: whole[columns.slices[group]] for group in selected.groups})
    for group, as_well in zip(selected.groups, alternatives, strict=True):
        part = columns.slices[group]
        result.pulls.setdefault(group, []).append(pulls[part])
        result.alternatives.setdefault(group, []).append(as_well)
        if group == TOKENS:
            signed = np.copysign(np.maximum(pulls[part], 0.0), whole[part])
            result.tokens.append(dict(zip(half.token_ids.tolist(), signed.tolist(), strict=True)))
    return Prediction(selected.groups, np.stack(logits[::-1]))
