"""Explain what each head attends to, and score the explanation on held-out documents.

The documents are divided into halves. On one half all columns are fitted to all heads at once and groups are put in
order; the other half measures; then the halves swap roles. See `fit` and `order`.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from headscope.analyses.explanation.catalog import CATALOG, Catalog
from headscope.analyses.explanation.divergences import HeadExplanation, measure_fit, measure_steps
from headscope.analyses.explanation.fit import RIDGE, Pair, Problem, curvature, fit
from headscope.analyses.explanation.order import Step, order_groups
from headscope.analyses.explanation.row_block import Flags, Floats, RowBlock, Singles
from headscope.analyses.explanation.sample import RowSample
from headscope.analyses.explanation.tables import MEASURES, NON_SINK, NORM, WEIGHT
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS

ORDERED = (WEIGHT, NON_SINK)
"""Measures whose groups are put in order."""
_FEWER_ROWS = 300
"""Most rows of each half to which positions alone are fitted, and measures other than the weights, which start from the
fit to the weights; that fit begins with as many rows."""
_FIRST_STEPS, _LAST_STEPS, _NEXT_STEPS = 8, 5, 4
"""Steps of the fit of the weights to fewer rows, of their subsequent fit to all rows, and of the fits of other measures
that start from it."""
_CHOOSING_ROWS, _ORDERING_ROWS = 96, 128
"""Most rows on which the gains of groups are compared, and most rows to which groups are fitted."""


def explain(
    sample: RowSample, layers: int, measures: Sequence[str] = MEASURES, *, catalog: Catalog = CATALOG,
    ordered: bool = True, positions: bool = False, examples: bool = False,
) -> dict[str, list[list[HeadExplanation]]]:  # fmt: skip
    """Explain every head of a kind of attention.

    Args:
        sample: sampled rows.
        layers: number of layers.
        measures: measures to explain, a subset of `MEASURES`.
        catalog: features and groups.
        ordered: True to put groups in order.
        positions: True to predict the weights from positions alone as well.
        examples: True to keep the rows that are predicted best and worst.

    Returns:
        Explanations by measure, `[layer][head]`; a measure that no layer has is left out.
    """
    products = frozenset(name for name, group in catalog.groups.items() if group.of_others)
    results: dict[str, list[list[HeadExplanation]]] = {}
    for measure in measures:
        by_layer: dict[int, list[HeadExplanation]] = {}
        of_weight = measure == WEIGHT
        for numbers, attention, counted in _parts(sample, layers, measure):
            starts = [head for layer in numbers for head in results[WEIGHT][layer]] if WEIGHT in results else []
            heads = len(attention) // len(numbers)
            of_part = _explain_part(
                sample, attention, counted, heads, starts, products if ordered and measure in ORDERED else None,
                positions=positions and of_weight, examples=examples and of_weight,
            )  # fmt: skip
            by_layer |= {layer: of_part[at * heads : (at + 1) * heads] for at, layer in enumerate(numbers)}
        if by_layer:
            results[measure] = [by_layer[layer] for layer in sorted(by_layer)]
    return results


def _parts(sample: RowSample, layers: int, measure: str) -> Iterator[tuple[list[int], Singles, Flags]]:
    """Yield layers that see the same cells, with the attention of all their heads, `[head, cell]`, and these cells.

    Layers without the measure are left out.
    """
    parts: list[tuple[Flags, list[int], list[Singles]]] = []
    for layer in range(layers):
        attention = sample.attention(int(measure == NORM), layer)
        counted = sample.counted(layer)
        if measure == NORM:
            counted &= ~sample.is_sink_logit  # a learned sink has no output
        if measure == NON_SINK:
            counted &= ~sample.is_sink
        if np.isnan(attention).all():
            continue
        same = next((part for part in parts if (part[0] == counted).all()), None)
        if same is None:
            parts.append(same := (counted, [], []))
        same[1].append(layer)
        same[2].append(np.where(counted, attention, np.float32(0)))
    for counted, numbers, attentions in parts:
        yield numbers, np.concatenate(attentions), counted


def _explain_part(
    sample: RowSample, attention: Singles, counted: Flags, of_layer: int,
    starts: Sequence[HeadExplanation], products: frozenset[str] | None, *, positions: bool, examples: bool,
) -> list[HeadExplanation]:  # fmt: skip
    """Explain the heads of some layers, in two threads: one for each half of the documents.

    Args:
        sample: sampled rows.
        attention: attention of the heads, `[head, cell]`.
        counted: mask of the cells that count, `[cell]`.
        of_layer: number of heads in a layer.
        starts: explanations of the weights of the same heads, from which fits start; empty for the weights themselves.
        products: groups that are put in order after all others; None to put no groups in order.
        positions: True to predict the weights from positions alone as well.
        examples: True to keep the rows that are predicted best and worst.
    """
    enough = len(sample.names) >= FEWEST_DOCUMENTS

    def explain_half(parity: int) -> list[HeadExplanation]:
        """Fit to one half of the documents, and measure on the other."""
        documents = len(sample.names)
        results = [HeadExplanation(np.zeros(documents), np.zeros(documents), np.zeros(of_layer)) for _ in attention]
        other_half = Problem.of(sample.half(1 - parity, counted), attention)
        coefficients = np.zeros((sample.columns.width, len(attention)), np.float32)
        if enough:
            blocks = sample.half(parity, counted)
            fewer = Problem.of(_spread_rows(blocks, _FEWER_ROWS, parts=8), attention)
            if starts:
                start = np.stack([start.coefficients[parity] for start in starts], axis=1)
                coefficients = fit(fewer, RIDGE, start=start, steps=_NEXT_STEPS)
            else:
                coefficients = _fit_in_two(Problem.of(blocks, attention), fewer)
            _append(results, "coefficients", coefficients.T)
            if positions:
                of_positions = replace(fewer, columns=sample.columns.positions)
                _append(results, "positions", fit(of_positions, 1e-3).T)
            if products is not None:
                few = _spread_rows(sample.part(parity, False, counted), _ORDERING_ROWS)
                choosing = _spread_rows(sample.part(parity, True, counted), _CHOOSING_ROWS)
                orders = order_groups(few, choosing, attention, sample.columns.groups, products)
                _append(results, "steps", orders)
                _append(results, "differences", _differences(fewer).T)
                measure_steps(sample, results, orders, other_half)
        measure_fit(sample, results, coefficients, other_half, of_layer, examples=examples and enough)
        return results

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(explain_half, (0, 1))
    for result, of_second in zip(first, second, strict=True):
        result.add(of_second)
    if not enough and products is not None:
        # There are too few documents to measure gains on held-out documents.
        few = _spread_rows([*sample.half(0, counted), *sample.half(1, counted)], _ORDERING_ROWS)
        orders = order_groups(few, few, attention, sample.columns.groups, products)
        _append(first, "steps", orders)
        _append(first, "differences", _differences(Problem.of(few, attention)).T)
    return first


def _append(results: Sequence[HeadExplanation], name: str, values: Iterable[Floats | list[Step]]) -> None:
    """Add the values of a half to an attribute of the heads, in the order of heads."""
    for result, of_head in zip(results, values, strict=True):
        getattr(result, name).append(of_head)


def _fit_in_two(problem: Problem, fewer: Problem) -> Floats:
    """Fit the coefficients of all heads to fewer rows and then, in a few steps, to all rows."""
    if fewer.n_rows >= problem.n_rows:
        return fit(problem, RIDGE)
    second, memory = curvature(fewer), list[Pair]()
    start = fit(fewer, RIDGE, steps=_FIRST_STEPS, second=second, memory=memory)
    return fit(problem, RIDGE, start=start, steps=_LAST_STEPS, second=second, memory=memory)


def _differences(problem: Problem) -> Floats:
    """Return the mean of each column under the attention minus that under uniform attention, `[column, head]`."""
    excess = []
    for block, target in zip(problem.blocks, problem.targets, strict=True):
        n_visible = np.maximum(block.visible.sum(1), 1)
        excess.append(target - block.visible[..., None] * (target.sum(1) / n_visible[:, None])[:, None])
    return np.asarray(problem.sums(excess) / problem.mass)


def _spread_rows(blocks: Sequence[RowBlock], most: int, *, parts: int = 2) -> list[RowBlock]:
    """Select at most `most` rows, spread evenly over rows of all lengths, and join them into at most `parts` blocks."""
    number = sum(len(block.rows) for block in blocks)
    wanted = np.arange(number) if number <= most else np.arange(most) * number // most
    chosen, first = [], 0
    for block in blocks:
        rows = wanted[(wanted >= first) & (wanted < first + len(block.rows))] - first
        first += len(block.rows)
        if len(rows):
            chosen.append(block.only(rows))
    halves = np.array_split(np.arange(len(chosen)), min(parts, len(chosen)))
    return [RowBlock.joined([chosen[number] for number in half]) for half in halves]
