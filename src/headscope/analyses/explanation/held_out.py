"""What predictions explain of the rows that they were not fitted on, and of each of their documents."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.design import Design, Floats
from headscope.analyses.explanation.example_rows import ExampleRow, HeldOutRows, example_rows
from headscope.analyses.explanation.logit import Target, log_softmax


@dataclass(frozen=True, eq=False)
class HeadFits:
    """What each half of the documents in turn fitted to a head.

    Attributes:
        explained: the coefficients of the columns of each group that explains it.
        positions: the same of all groups of positions and nothing else, where they were fitted.
    """

    explained: list[dict[str, Floats]] = field(default_factory=list)
    positions: list[dict[str, Floats]] = field(default_factory=list)


@dataclass(eq=False)
class HeadExplanation:
    """What explains one head by one measure.

    Attributes:
        to_explain: sum of KL(attention || uniform) over the rows of each document, `[document]`.
        left: the same of KL(attention || prediction).
        gained: what each group adds, `[document]`, by group.
        wrong: KL(attention || prediction of another head of the layer), `[other head, document]`.
        n_rows: number of rows.
        fits: the coefficients of its columns.
        pulls: how far each column draws attention: its coefficient times its mean under the attention less that under
            uniform attention, in the halves that selected its group.
        alternatives: the groups that would have done as well as a group, in the halves that selected it.
        tokens: pulls of particular tokens by id, below 0 where one is avoided, in the halves that selected them.
        examples: rows that are predicted best and worst, of both halves, where examples are measured.
    """

    to_explain: Floats
    left: Floats
    wrong: Floats
    gained: dict[str, Floats] = field(default_factory=dict)
    n_rows: int = 0
    fits: HeadFits = field(default_factory=HeadFits)
    pulls: dict[str, list[Floats]] = field(default_factory=dict)
    alternatives: dict[str, list[tuple[str, ...]]] = field(default_factory=dict)
    tokens: list[dict[int, float]] = field(default_factory=list)
    examples: list[ExampleRow] = field(default_factory=list)

    def coefficients(self, group: str) -> list[Floats]:
        """Return the coefficients of a group's columns, in the halves that selected it."""
        return [of_half[group] for of_half in self.fits.explained if group in of_half]


@dataclass(frozen=True, eq=False)
class Prediction:
    """The prediction of one head on the half that measures, by group; logits `[step, cell]`, the first uniform."""

    groups: tuple[str, ...]
    logits: Floats


def measure_heads(
    results: Sequence[HeadExplanation],
    predictions: Sequence[Prediction],
    targets: Sequence[Target],
    rows: HeldOutRows,
    content: NDArray[np.bool_] | None,
    *,
    examples: bool,
) -> None:
    """Add the divergences of a half's rows to the sums of their documents.

    Args:
        results: of each head of a layer.
        predictions: of each head.
        targets: attention of each head.
        rows: that measure.
        content: the cells that count, of which attention and prediction are renormalized; None for all.
        examples: whether the rows that are predicted best and worst are kept.
    """
    design, n_documents = rows.design, len(results[0].left)

    def of_documents(values: Floats) -> Floats:
        sums = np.bincount(rows.documents, weights=values, minlength=n_documents)
        return sums.astype(np.float64, copy=False)

    finals = np.stack([_normalized(prediction.logits[-1], design, content) for prediction in predictions])
    for head, (result, prediction, target) in enumerate(zip(results, predictions, targets, strict=True)):
        attention = target.attention if content is None else np.where(content, target.attention, 0.0)
        mass = design.row_sums(attention)
        logs = np.log(np.where(attention > 0, attention, 1.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            entropy = design.row_sums(attention * logs) - np.where(mass > 0, mass * np.log(mass), 0.0)
        of_rows = [
            entropy - design.row_sums(attention * _normalized(logits, design, content)) for logits in prediction.logits
        ]
        steps = [of_documents(divergences) for divergences in of_rows]
        result.to_explain += steps[0]
        result.left += steps[-1]
        result.n_rows += int(np.count_nonzero(mass > 0))
        for group, before, after in zip(prediction.groups, steps, steps[1:], strict=False):
            result.gained[group] = result.gained.get(group, np.zeros(n_documents)) + before - after
        for other, log_p in enumerate(finals):
            if other != head:
                result.wrong[other] += of_documents(entropy - design.row_sums(attention * log_p))
        if examples:
            result.examples += example_rows(of_rows[-1], of_rows[0], attention, finals[head], rows)


def _normalized(logits: Floats, design: Design, content: NDArray[np.bool_] | None) -> Floats:
    """Return the logarithm of the prediction over the cells that count; 0 in the others."""
    if content is None:
        return log_softmax(logits, design)
    log_p = log_softmax(np.where(content, logits, -1e9), design)
    return np.where(content, log_p, 0.0)
