"""Training probes: mini-batches, Adam, and for every run the epoch that does best on documents held out of train."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.probes.batches import ProbeBatch, ProbeData
from headscope.probes.learner import Learner

HELD_OUT = 0.1
_FEWEST, _MOST, _STEPS = 4, 32, 400  # sentences in a batch, and steps of an epoch that are hoped for


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """How probes are trained.

    Attributes:
        epochs: passes over train at most.
        falling: whether the rate of Adam falls evenly to nothing over so many epochs.
        patience: epochs without a gain on the held-out documents after which a run stops.
        sentences: in a batch at most.
        weights: numbers in a batch's tables at most: what bounds memory.
        seed: of the order of the batches.
    """

    epochs: int = 4
    falling: bool = True
    patience: int = 2
    sentences: int = 32
    weights: int = 1 << 23
    seed: int = 0

    @classmethod
    def of(cls, sentences: int, *, weights: int, seed: int) -> "TrainingOptions":
        """Choose batches for a treebank of so many sentences: few are seen in small steps, so that steps are many."""
        return cls(sentences=min(_MOST, max(_FEWEST, sentences // _STEPS)), weights=weights, seed=seed)


@dataclass
class Record:
    """What became of one probe.

    Attributes:
        held_out: accuracy on the held-out documents after each epoch, `[run]` each.
        best: which epoch each run's weights are of, from 1, `[run]`.
    """

    held_out: list[NDArray[np.float64]] = field(default_factory=list)
    best: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


def hold_out(documents: Sequence[str], *, seed: int) -> NDArray[np.bool_]:
    """Draw a tenth of the documents, at least one; say which sentences are of them, `[sentence]`.

    Where all sentences are of one document, a tenth of the sentences.

    Args:
        documents: the document of each sentence.
        seed: of the draw.
    """
    names = list(dict.fromkeys(documents))
    units = list(documents) if len(names) > 1 else [str(place) for place in range(len(documents))]
    names = list(dict.fromkeys(units))
    number = max(1, round(HELD_OUT * len(names)))
    drawn = np.random.default_rng([seed, 10]).permutation(len(names))[:number]
    chosen = {names[place] for place in drawn.tolist()}
    return np.array([unit in chosen for unit in units])


def train(
    learners: Mapping[str, Learner],
    data: ProbeData,
    held_out: NDArray[np.bool_],
    *,
    options: TrainingOptions | None = None,
    device: torch.device | str = "cpu",
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Record]:
    """Train probes side by side on the same batches; each keeps the weights of its runs' best epochs.

    The runs of a probe share the order of the batches; a run learns nothing from the sentences that it holds out.

    Args:
        learners: the probes by name; trained in place.
        data: the treebank.
        held_out: which sentences each run holds out, `[run, sentence]` over the whole treebank; the runs of a probe
            take the lines in order, again from the first where they are more.
        options: how.
        device: where.
        progress: told of the epoch, from 0, and of how many of its sentences have been seen.
    """
    how = options or TrainingOptions()
    going = {name: _Trainee(learner.to(device), held_out) for name, learner in learners.items()}
    trained = going.copy()
    watched = data.numbers[np.logical_or.reduce(held_out)[data.numbers]]
    for epoch in range(how.epochs):
        done = 0
        for batch in _batches(data, data.numbers, how, device=device, seed=(how.seed, epoch)):
            left = 1 - (epoch + done / len(data.numbers)) / how.epochs
            for trainee in going.values():
                trainee.step(batch, left if how.falling else 1.0)
            done += len(batch.sentences)
            if progress is not None:
                progress(epoch, done)
        for batch in _batches(data, watched, how, device=device):
            for trainee in going.values():
                trainee.look(batch)
        going = {name: trainee for name, trainee in going.items() if trainee.goes_on(epoch, how.patience)}
        if not going:
            break
    for trainee in trained.values():
        trainee.finish()
    return {name: trainee.record for name, trainee in trained.items()}


def _batches(
    data: ProbeData,
    numbers: NDArray[np.int64],
    how: TrainingOptions,
    *,
    device: torch.device | str,
    seed: Sequence[int] | None = None,
) -> Iterator[ProbeBatch]:
    for chosen in data.cut(numbers, most=how.sentences, weights=how.weights, seed=seed):
        yield data.batch(chosen, device=device)


class _Trainee:
    """A probe in training: its optimiser, its best weights so far."""

    def __init__(self, learner: Learner, held_out: NDArray[np.bool_]) -> None:
        self.learner = learner
        self.held_out = held_out[np.arange(learner.runs) % len(held_out)]
        self.optimiser = torch.optim.Adam(learner.parameters(), lr=learner.rate)
        self.going = np.ones(learner.runs, dtype=bool)
        self.record = Record(best=np.zeros(learner.runs, dtype=np.int64))
        self.best = {name: value.detach().clone() for name, value in learner.named_parameters()}
        self._reset()

    def _reset(self) -> None:
        self.right, self.asked = np.zeros(self.learner.runs), np.zeros(self.learner.runs)

    def _mask(self, batch: ProbeBatch, counts: Tensor) -> Tensor:
        """Say which sentences each run holds out, `[run, batch]`."""
        return torch.from_numpy(self.held_out[:, batch.sentences]).to(counts.device)

    def step(self, batch: ProbeBatch, share: float) -> None:
        """Learn from a batch, at a share of the probe's rate."""
        for group in self.optimiser.param_groups:
            group["lr"] = self.learner.rate * share
        judged = self.learner.judge(batch)
        mine = ~self._mask(batch, judged.counts)
        words = (judged.counts * mine).sum(1).clamp(min=1)
        loss = ((judged.loss * mine).sum(1) / words).sum()
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()

    @torch.no_grad()
    def look(self, batch: ProbeBatch) -> None:
        """Count right answers on what is held out."""
        judged = self.learner.judge(batch)
        held = self._mask(batch, judged.counts)
        self.right += (judged.right * held).sum(1).double().cpu().numpy()
        self.asked += (judged.counts * held).sum(1).double().cpu().numpy()

    @torch.no_grad()
    def goes_on(self, epoch: int, patience: int) -> bool:
        """Keep the weights of the runs that did better than ever; say whether another epoch is worth it."""
        found = self.right / np.maximum(self.asked, 1)
        earlier = np.max(self.record.held_out, axis=0, initial=-1.0) if self.record.held_out else -1.0
        better = (found > earlier) & self.going
        self.record.held_out.append(found)
        self.record.best[better] = epoch + 1
        # A run that has stopped stays as it was, however long the others go on.
        self.going &= epoch + 1 - self.record.best < patience
        for name, value in self.learner.named_parameters():
            gained = torch.from_numpy(better).to(value.device)
            self.best[name][gained] = value[gained]
        self._reset()
        return bool(self.going.any())

    @torch.no_grad()
    def finish(self) -> None:
        """Put the best weights in place."""
        for name, value in self.learner.named_parameters():
            value.copy_(self.best[name])
