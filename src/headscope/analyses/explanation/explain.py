"""What each head attends to, explained on documents that fitted nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.columns import Columns
from headscope.analyses.explanation.design import Design, Floats, Integers
from headscope.analyses.explanation.feature import TOKENS
from headscope.analyses.explanation.greedy import Selected, Selector
from headscope.analyses.explanation.halves import Half, half_of
from headscope.analyses.explanation.logit import Target, fit, log_softmax
from headscope.analyses.explanation.sample_design import SampleDesign
from headscope.analyses.explanation.tables import MEASURES, NON_SINK, NORM, WEIGHT
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS

_ROUGHLY = 1e-2
"""Tolerance of the fits that divide the explained share among groups, and of where the last one starts."""


@dataclass(eq=False)
class HeadExplanation:
    """What explains one head by one measure.

    Attributes:
        to_explain: sum of KL(attention || uniform) over the rows of each document, `[document]`.
        left: the same of KL(attention || prediction).
        gained: what each group adds, `[document]`, by group.
        wrong: KL(attention || prediction of another head of the layer), `[other head, document]`.
        n_rows: number of rows.
        coefficients: of each group's columns, in the halves that selected it.
        pulls: how far each column draws attention: its coefficient times its mean under the attention less that under
            uniform attention, in the halves that selected its group.
        alternatives: the groups that would have done as well as a group, in the halves that selected it.
        tokens: pulls of particular tokens, 0 where one is avoided, by id, in the halves that selected them.
    """

    to_explain: Floats
    left: Floats
    wrong: Floats
    gained: dict[str, Floats] = field(default_factory=dict)
    n_rows: int = 0
    coefficients: dict[str, list[Floats]] = field(default_factory=dict)
    pulls: dict[str, list[Floats]] = field(default_factory=dict)
    alternatives: dict[str, list[tuple[str, ...]]] = field(default_factory=dict)
    tokens: list[dict[int, float]] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class _Prediction:
    """The prediction of one head on the half that measures, by group; logits `[step, cell]`, the first uniform."""

    groups: tuple[str, ...]
    logits: Floats


Explanations = dict[str, list[HeadExplanation]]
"""Of the heads of a layer, `[head]` by measure."""


def explain(
    sample: SampleDesign, layers: Sequence[int], measures: Sequence[str] = MEASURES
) -> list[Explanations]:
    """Explain every head of some layers.

    Args:
        sample: the rows.
        layers: from 0.
        measures: of `MEASURES`; `NON_SINK` goes with `WEIGHT`.
    """
    results: list[Explanations] = [{} for _ in layers]
    enough = len(sample.names) >= FEWEST_DOCUMENTS
    for number, measure in enumerate((WEIGHT, NORM)):
        names = [name for name in measures if name in ((WEIGHT, NON_SINK) if measure == WEIGHT else (NORM,))]
        for parity in (0, 1) if names and enough else (0,) if names else ():
            half, half_cells = None, None
            for layer, result in zip(layers, results, strict=True):
                attention = sample.attention(number, layer)
                if np.isnan(attention).all():
                    continue
                of_layer = {
                    name: result.setdefault(name, _empty(len(sample.names), len(attention))) for name in names
                }
                visible = sample.visible_in(layer, number)
                if not enough:
                    _explain_nothing(sample, visible, attention, of_layer)
                    continue
                # Most layers see the same cells, for which the half is made once.
                same = (
                    visible is None
                    if half_cells is None
                    else visible is not None and bool((half_cells == visible).all())
                )
                if half is None or not same:
                    half, half_cells = half_of(sample, visible, parity), visible
                _explain_half(sample, half, attention, of_layer)
    for result in results:
        for of_weight, of_content in zip(result.get(WEIGHT, ()), result.get(NON_SINK, ()), strict=False):
            for name in ("coefficients", "pulls", "alternatives", "tokens"):
                setattr(of_content, name, getattr(of_weight, name))
    return results


def _explain_half(
    sample: SampleDesign, half: Half, attention: NDArray[np.float32], results: Explanations
) -> None:
    """Explain a layer's heads by one half of the documents, measured on the other."""
    targets = [Target.of(each[half.measured_cells], half.measured) for each in attention]
    selector = Selector(half.split)
    predictions = [
        _predict(half, each, selector.select(each), result)
        for each, result in zip(attention, next(iter(results.values())), strict=True)
    ]
    rows = sample.documents[half.measured_rows]
    for name, of_measure in results.items():
        content = ~sample.is_sink[half.measured_cells] if name == NON_SINK else None
        _measure(of_measure, predictions, targets, half.measured, rows, content)


def _explain_nothing(
    sample: SampleDesign,
    visible: NDArray[np.bool_] | None,
    attention: NDArray[np.float32],
    results: Explanations,
) -> None:
    """Measure what there is to explain where documents are too few to explain it."""
    design = sample.design if visible is None else sample.design.restricted(visible)
    cells = slice(None) if visible is None else visible
    targets = [Target.of(each[cells], design) for each in attention]
    nothing = [_Prediction((), np.zeros((1, design.n_cells)))] * len(attention)
    for name, of_measure in results.items():
        content = ~sample.is_sink[cells] if name == NON_SINK else None
        _measure(of_measure, nothing, targets, design, sample.documents, content)


def _empty(documents: int, heads: int) -> list[HeadExplanation]:
    return [
        HeadExplanation(np.zeros(documents), np.zeros(documents), np.zeros((heads, documents)))
        for _ in range(heads)
    ]


def _predict(
    half: Half, attention: NDArray[np.float32], selected: Selected, result: HeadExplanation
) -> _Prediction:
    """Fit the selected groups on a half, and the first of them alone, and predict the attention of the other half."""
    target = Target.of(attention[half.fitted_cells], half.fitted)
    columns = Columns(half.fitted, selected.groups, selected.columns.token_ridge)
    roughly = fit(
        columns.first(len(selected.groups), np.float32), target, selected.coefficients, tolerance=_ROUGHLY
    )
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
    for group, alternatives in zip(selected.groups, selected.alternatives, strict=True):
        part = columns.slices[group]
        result.coefficients.setdefault(group, []).append(whole[part])
        result.pulls.setdefault(group, []).append(pulls[part])
        result.alternatives.setdefault(group, []).append(alternatives)
        if group == TOKENS:
            favored = np.where(whole[part] > 0, pulls[part], 0.0)
            result.tokens.append(dict(zip(half.token_ids.tolist(), favored.tolist(), strict=True)))
    return _Prediction(selected.groups, np.stack(logits[::-1]))


def _measure(
    results: list[HeadExplanation],
    predictions: list[_Prediction],
    targets: list[Target],
    design: Design,
    documents: Integers,
    content: NDArray[np.bool_] | None,
) -> None:
    """Add the divergences of a half's rows to the sums of their documents.

    Args:
        results: of each head.
        predictions: of each head.
        targets: attention of each head.
        design: of the rows.
        documents: number of each row's document.
        content: the cells that count, of which attention and prediction are renormalized; None for all.
    """
    n_documents = len(results[0].left)

    def of_documents(rows: Floats) -> Floats:
        sums = np.bincount(documents, weights=rows, minlength=n_documents)
        return sums.astype(np.float64, copy=False)

    finals = np.stack([_normalized(prediction.logits[-1], design, content) for prediction in predictions])
    for head, (result, prediction, target) in enumerate(zip(results, predictions, targets, strict=True)):
        attention = target.attention if content is None else np.where(content, target.attention, 0.0)
        mass = design.row_sums(attention)
        logs = np.log(np.where(attention > 0, attention, 1.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            entropy = design.row_sums(attention * logs) - np.where(mass > 0, mass * np.log(mass), 0.0)
        steps = [
            of_documents(entropy - design.row_sums(attention * _normalized(logits, design, content)))
            for logits in prediction.logits
        ]
        result.to_explain += steps[0]
        result.left += steps[-1]
        result.n_rows += int(np.count_nonzero(mass > 0))
        for group, before, after in zip(prediction.groups, steps, steps[1:], strict=False):
            result.gained[group] = result.gained.get(group, np.zeros(n_documents)) + before - after
        for other, log_p in enumerate(finals):
            if other != head:
                rows = entropy - design.row_sums(attention * log_p)
                result.wrong[other] += of_documents(rows)


def _normalized(logits: Floats, design: Design, content: NDArray[np.bool_] | None) -> Floats:
    """Return the logarithm of the prediction over the cells that count; 0 in the others."""
    if content is None:
        return log_softmax(logits, design)
    log_p = log_softmax(np.where(content, logits, -1e9), design)
    return np.where(content, log_p, 0.0)
