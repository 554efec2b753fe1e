"""What each head attends to, explained on documents that fitted nothing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.design import Columns, Design, Floats, Integers
from headscope.analyses.explanation.feature import TOKENS
from headscope.analyses.explanation.greedy import Selected, Selector
from headscope.analyses.explanation.halves import Half, halves
from headscope.analyses.explanation.logit import Target, fit, log_softmax
from headscope.analyses.explanation.sample_design import SampleDesign
from headscope.statistics.confidence import FEWEST_DOCUMENTS

WEIGHT, NORM, NON_SINK = MEASURES = ("weight", "norm", "non_sink")
"""The attention weight, norm-weighted attention, and the weight on non-sink keys, by the prediction of the weight."""


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


def explain_layer(
    sample: SampleDesign, layer: int, measures: Sequence[str] = MEASURES
) -> dict[str, list[HeadExplanation]]:
    """Explain every head of a layer, `[head]` by measure."""
    results: dict[str, list[HeadExplanation]] = {}
    for number, measure in enumerate((WEIGHT, NORM)):
        attention = sample.attention(number, layer)
        if measure not in measures or np.isnan(attention).all():
            continue
        visible = sample.visible_in(layer, number)
        n_heads, n_documents = len(attention), len(sample.names)
        of_measures = [
            name for name in measures if name in ((WEIGHT, NON_SINK) if measure == WEIGHT else (NORM,))
        ]
        for name in of_measures:
            results[name] = [_empty(n_documents, n_heads) for _ in range(n_heads)]
        if n_documents < FEWEST_DOCUMENTS:
            design = sample.design if visible is None else sample.design.restricted(visible)
            cells = slice(None) if visible is None else visible
            targets = [Target.of(each[cells], design) for each in attention]
            nothing = [_Prediction((), np.zeros((1, design.n_cells)))] * n_heads
            for name in of_measures:
                content = ~sample.is_sink[cells] if name == NON_SINK else None
                _measure(results[name], nothing, targets, design, sample.documents, content)
            continue
        for half in halves(sample, visible):
            targets = [Target.of(each[half.measured_cells], half.measured) for each in attention]
            selector = Selector(half.split)
            predictions = [
                _predict(half, each, selector.select(each), result)
                for each, result in zip(attention, results[measure], strict=True)
            ]
            rows = sample.documents[half.measured_rows]
            for name in of_measures:
                content = ~sample.is_sink[half.measured_cells] if name == NON_SINK else None
                _measure(results[name], predictions, targets, half.measured, rows, content)
        if measure == WEIGHT and NON_SINK in results:
            for of_weight, of_content in zip(results[WEIGHT], results[NON_SINK], strict=True):
                for name in ("coefficients", "pulls", "alternatives", "tokens"):
                    setattr(of_content, name, getattr(of_weight, name))
    return results


def _empty(documents: int, heads: int) -> HeadExplanation:
    zero = np.zeros(documents)
    return HeadExplanation(zero.copy(), zero.copy(), np.zeros((heads, documents)))


def _predict(
    half: Half, attention: NDArray[np.float32], selected: Selected, result: HeadExplanation
) -> _Prediction:
    """Fit the selected groups on a half, one more at a time, and predict the attention of the other half."""
    target = Target.of(attention[half.fitted_cells], half.fitted)
    logits = [np.zeros(half.measured.n_cells)]
    start = np.zeros(0)
    columns = Columns(half.fitted, ())
    for number in range(1, len(selected.groups) + 1):
        groups = selected.groups[:number]
        before, columns = columns, Columns(half.fitted, groups)
        start = fit(columns, target, columns.extended(start, before))
        logits.append(Columns(half.measured, groups).logits(start))
    even = np.repeat(target.mass / half.fitted.lengths, half.fitted.lengths)
    pulls = start * columns.sums(target.attention - even) / target.n_rows
    for group, alternatives in zip(selected.groups, selected.alternatives, strict=True):
        part = columns.slices[group]
        result.coefficients.setdefault(group, []).append(start[part])
        result.pulls.setdefault(group, []).append(pulls[part])
        result.alternatives.setdefault(group, []).append(alternatives)
        if group == TOKENS:
            favored = np.where(start[part] > 0, pulls[part], 0.0)
            result.tokens.append(dict(zip(half.token_ids.tolist(), favored.tolist(), strict=True)))
    return _Prediction(selected.groups, np.stack(logits))


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
        mass = np.add.reduceat(attention, design.starts)
        logs = np.log(np.where(attention > 0, attention, 1.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            entropy = np.add.reduceat(attention * logs, design.starts) - np.where(
                mass > 0, mass * np.log(mass), 0.0
            )
        steps = [
            of_documents(
                entropy - np.add.reduceat(attention * _normalized(logits, design, content), design.starts)
            )
            for logits in prediction.logits
        ]
        result.to_explain += steps[0]
        result.left += steps[-1]
        result.n_rows += int(np.count_nonzero(mass > 0))
        for group, before, after in zip(prediction.groups, steps, steps[1:], strict=False):
            result.gained[group] = result.gained.get(group, np.zeros(n_documents)) + before - after
        for other, log_p in enumerate(finals):
            if other != head:
                rows = entropy - np.add.reduceat(attention * log_p, design.starts)
                result.wrong[other] += of_documents(rows)


def _normalized(logits: Floats, design: Design, content: NDArray[np.bool_] | None) -> Floats:
    """Return the logarithm of the prediction over the cells that count; 0 in the others."""
    if content is None:
        return log_softmax(logits, design)
    log_p = log_softmax(np.where(content, logits, -1e9), design)
    return np.where(content, log_p, 0.0)


def explain(
    sample: SampleDesign, layers: int, measures: Sequence[str] = MEASURES
) -> Iterator[dict[str, list[HeadExplanation]]]:
    """Explain the heads of every layer in turn."""
    for layer in range(layers):
        yield explain_layer(sample, layer, measures)
