"""The answers of trained probes on other sentences: heads, trees, labels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.analyses.probes.data.probe_batches import ProbeData
from headscope.analyses.probes.parsers.decoding import best_tree
from headscope.analyses.probes.parsers.label_probe import LabelProbe
from headscope.analyses.probes.parsers.learner import ArcProbe

_AT_ONCE = 64


@dataclass(frozen=True, eq=False)
class ArcAnswers:
    """The answers of a probe's runs, with sentences concatenated in the order of the data.

    Attributes:
        heads: best head of each word, 0 for the root, `[run, word]`.
        targets: right answers of each run's task, the tree or the control task, `[run, word]`.
        trees: heads in the best tree; with 0 runs if no trees were requested, `[run, word]`.
        labels: index of the label of each word's best head (`LabelProbe.answers`); 0 runs without a label probe.
    """

    heads: NDArray[np.int64]
    targets: NDArray[np.int64]
    trees: NDArray[np.int64]
    labels: NDArray[np.int64]


@torch.no_grad()
def answer(
    probe: ArcProbe,
    data: ProbeData,
    *,
    labels: LabelProbe | None = None,
    trees: Sequence[int] = (),
    weights: int,
    device: torch.device | str = "cpu",
) -> ArcAnswers:
    """Predict every word's head with a probe.

    Args:
        probe: the trained probe.
        data: the sentences, in the order of `data.numbers`.
        labels: probe that labels the arcs of the first runs; it must have as many runs, trained on the tree.
        trees: runs whose best trees are predicted too.
        weights: largest number of values in a batch's tables.
        device: device to compute on.
    """
    lengths = np.array([len(data.words[number]) for number in data.numbers.tolist()])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    row = {int(number): index for index, number in enumerate(data.numbers)}
    total = int(starts[-1])
    answers = ArcAnswers(
        heads=np.zeros((probe.runs, total), dtype=np.int64),
        targets=np.zeros((probe.runs, total), dtype=np.int64),
        trees=np.zeros((len(trees), total), dtype=np.int64),
        labels=np.zeros((0 if labels is None else labels.runs, total), dtype=np.int64),
    )
    for chosen in data.cut(data.numbers, most=_AT_ONCE, weights=weights):
        batch = data.batch(chosen, device=device)
        scores = probe.scores(batch)
        heads = scores.argmax(3)
        targets = batch.targets[list(probe.tasks)].cpu().numpy()
        label_answers = None if labels is None else labels.answers(batch, heads[: labels.runs]).cpu().numpy()
        head_answers, exact = heads.cpu().numpy(), scores[list(trees)].cpu().numpy()
        for item, number in enumerate(chosen.tolist()):
            index = row[number]
            size = int(lengths[index])
            at = slice(int(starts[index]), int(starts[index]) + size)
            answers.heads[:, at] = head_answers[:, item, :size]
            answers.targets[:, at] = targets[:, item, :size]
            if label_answers is not None:
                answers.labels[:, at] = label_answers[:, item, :size]
            for line in range(len(trees)):
                answers.trees[line, at] = best_tree(exact[line, item, :size, : size + 1])
    return answers
