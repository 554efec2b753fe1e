"""Training of probes: Adam on mini-batches, with a rate that falls when the loss has stopped falling.

Each run keeps its best epoch on held-out sentences.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.probes.parsers.learner import Learner
from headscope.analyses.probes.probe_data import ProbeBatch, ProbeData


@dataclass(frozen=True, kw_only=True)
class Falling:
    """Parameters of the schedule by which a rate falls.

    Attributes:
        least_gain: smallest decrease of the loss in an epoch that counts as progress, in the unit of the loss.
        factor: factor by which the rate falls.
        falls: smallest number of falls.
    """

    least_gain: float = 0.002
    factor: float = 0.25
    falls: int = 3


class Plateau:
    """The learning rate of one run, which falls when its loss stops falling.

    At every rate the run continues until its loss has stopped falling; then it returns to its best weights and
    continues from them at a lower rate. It ends with a rate that gained nothing over the one before, so that the best
    epoch is never one of a rate that was still too high.

    Args:
        schedule: schedule by which the rate falls.

    Attributes:
        share: rate of the next epoch as a share of the first rate.
        best: epoch of the lowest loss, from 1; 0 before any.
        lowest: lowest loss.
        done: True if training has ended.
    """

    def __init__(self, schedule: Falling) -> None:
        self.schedule = schedule
        self.share, self.best, self.lowest, self.done = 1.0, 0, float("inf"), False
        self._epoch, self._fallen, self._before = 0, 0, float("inf")

    def tell(self, loss: float) -> tuple[bool, bool]:
        """Record the loss after an epoch; return whether it is the lowest, and whether to go back to the lowest.

        A NaN or infinite loss counts as no progress.
        """
        self._epoch += 1
        if self.done:
            return False, False
        gained = self.lowest - loss if np.isfinite(loss) else -1.0
        if better := gained > 0:
            self.lowest, self.best = loss, self._epoch
        if gained >= self.schedule.least_gain:
            return better, False
        if self._fallen >= self.schedule.falls and not self._before - self.lowest >= self.schedule.least_gain:
            self.done = True
        else:
            self._fallen, self._before = self._fallen + 1, self.lowest
            self.share *= self.schedule.factor
        return better, not better


HELD_OUT = 0.1
_FEWEST, _MOST, _STEPS = 4, 32, 400  # sentences in a batch, and desired number of steps in an epoch
_LEAST_STEPS = 50  # steps of an epoch; after fewer, a small gain of the loss is not evidence of convergence


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """Options for the training of probes.

    Attributes:
        epochs: largest number of epochs; a run that has not ended by then is reported as not settled.
        passes: number of passes over train in an epoch.
        falling: schedule of Adam's rate, by the loss on the held-out documents in nats a word.
        sentences: largest number of sentences in a batch.
        weights: largest number of values in a batch's tables, which bounds memory.
        seed: seed of the order of the batches.
    """

    epochs: int = 60
    passes: int = 1
    falling: Falling = field(default_factory=Falling)
    sentences: int = 32
    weights: int = 1 << 23
    seed: int = 0

    @classmethod
    def of(cls, sentences: int, *, weights: int, seed: int) -> "TrainingOptions":
        """Choose the batch size for a number of sentences; a small treebank has small batches, for enough steps."""
        most = min(_MOST, max(_FEWEST, sentences // _STEPS))
        passes = max(1, -(-_LEAST_STEPS * most // max(sentences, 1)))
        return cls(sentences=most, passes=passes, weights=weights, seed=seed)


@dataclass(frozen=True, eq=False)
class Record:
    """The result of training one probe.

    Attributes:
        losses: loss on the held-out documents after each epoch, in nats a word, `[run]` each; for a run without
            held-out documents, loss on its training documents.
        shares: rate of each epoch as a share of the probe's rate, `[run]` each; 0 for a run that had ended.
        best: epoch of each run's weights, from 1, `[run]`.
        settled: True for each run whose loss had stopped falling, `[run]`.
    """

    losses: list[NDArray[np.float64]]
    shares: list[NDArray[np.float64]]
    best: NDArray[np.int64]
    settled: NDArray[np.bool_]


def hold_out(documents: Sequence[str], *, seed: int) -> NDArray[np.bool_]:
    """Draw a tenth of the documents, at least one, and mark their sentences, `[sentence]`.

    If all sentences are from one document, a tenth of the sentences is drawn.

    Args:
        documents: document of each sentence.
        seed: seed of the random draw.
    """
    units = list(documents) if len(set(documents)) > 1 else [str(index) for index in range(len(documents))]
    names = list(dict.fromkeys(units))
    number = max(1, round(HELD_OUT * len(names)))
    drawn = np.random.default_rng([seed, 10]).permutation(len(names))[:number]
    chosen = {names[index] for index in drawn.tolist()}
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
    """Train probes side by side on the same batches; each run keeps the weights of its best epoch.

    The runs of a probe share the order of the batches; a run does not learn from its held-out sentences.

    Args:
        learners: the probes by name; trained in place.
        data: the treebank.
        held_out: True for the sentences that each run holds out, `[run, sentence]` over the whole treebank; the runs of
            a probe take the rows in order, starting again from the first if they outnumber the rows.
        options: options for the training.
        device: device to train on.
        progress: callback with the number of the epoch, from 0, and the number of its sentences that are done.
    """
    settings = options or TrainingOptions()
    trained = {name: _Trainee(learner.to(device), held_out, settings.falling) for name, learner in learners.items()}
    watched = data.numbers[np.logical_or.reduce(held_out)[data.numbers]]
    for epoch in range(settings.epochs):
        going = [trainee for trainee in trained.values() if trainee.goes_on]
        if not going:
            break
        for number in range(settings.passes):
            done = 0
            order = (settings.seed, epoch * settings.passes + number)
            for batch in _batches(data, data.numbers, settings, device=device, seed=order):
                for trainee in going:
                    trainee.step(batch)
                done += len(batch.sentences)
                if progress is not None:
                    progress(epoch, done)
        for batch in _batches(data, watched, settings, device=device):
            for trainee in going:
                trainee.look(batch)
        for trainee in going:
            trainee.end_epoch()
    return {name: trainee.finish() for name, trainee in trained.items()}


def _batches(
    data: ProbeData,
    numbers: NDArray[np.int64],
    settings: TrainingOptions,
    *,
    device: torch.device | str,
    seed: Sequence[int] | None = None,
) -> Iterator[ProbeBatch]:
    for chosen in data.cut(numbers, most=settings.sentences, weights=settings.weights, seed=seed):
        yield data.batch(chosen, device=device)


class _Trainee:
    """A probe in training: its optimizer, its runs' rates, and its best weights so far."""

    def __init__(self, learner: Learner, held_out: NDArray[np.bool_], falling: Falling) -> None:
        self.learner = learner
        self.held_out = held_out[np.arange(learner.runs) % len(held_out)]
        self.optimizers = [self._adam(run) for run in range(learner.runs)]
        self.runs = [Plateau(falling) for _ in range(learner.runs)]
        self.losses: list[NDArray[np.float64]] = []
        self.shares_of_epochs: list[NDArray[np.float64]] = []
        self.best = {name: value.detach().clone() for name, value in learner.named_parameters()}
        self._reset()

    def _reset(self) -> None:
        # Sums of losses in nats and of words, for the training sentences and for the held-out sentences.
        self.sums = np.zeros((2, 2, self.learner.runs))
        self.shares = np.array([0.0 if run.done else run.share for run in self.runs])
        for optimizer, share in zip(self.optimizers, self.shares.tolist()):
            optimizer.param_groups[0]["lr"] = self.learner.rate * share

    def _adam(self, run: int) -> torch.optim.Adam:
        """Return an optimizer of one run's weights, as views of the probe's parameters."""
        return torch.optim.Adam([parameter.detach()[run] for parameter in self.learner.parameters()])

    @property
    def goes_on(self) -> bool:
        """True if any run has not ended."""
        return not all(run.done for run in self.runs)

    def _judge(self, batch: ProbeBatch, *, is_held_out: bool) -> tuple[Tensor, Tensor]:
        """Return and accumulate loss and words of each run's held-out sentences, or of its other sentences.

        Both are `[run, batch]`, 0 for sentences that are not counted.
        """
        judged = self.learner.judge(batch)
        mask = torch.from_numpy(self.held_out[:, batch.sentences] == is_held_out).to(judged.counts.device)
        loss, counts = judged.loss * mask, judged.counts * mask
        for row, each in enumerate((loss, counts)):
            self.sums[int(is_held_out), row] += each.sum(1).detach().double().cpu().numpy()
        return loss, counts

    def step(self, batch: ProbeBatch) -> None:
        """Learn from a batch, every run at its own rate."""
        loss, counts = self._judge(batch, is_held_out=False)
        self.learner.zero_grad()
        (loss.sum(1) / counts.sum(1).clamp(min=1)).sum().backward()  # type: ignore[no-untyped-call]
        for run, optimizer in enumerate(self.optimizers):
            if self.runs[run].done:
                continue
            for weights, parameter in zip(optimizer.param_groups[0]["params"], self.learner.parameters()):
                weights.grad = None if parameter.grad is None else parameter.grad[run]
            optimizer.step()

    @torch.no_grad()
    def look(self, batch: ProbeBatch) -> None:
        """Add up the loss on the held-out sentences."""
        self._judge(batch, is_held_out=True)

    @torch.no_grad()
    def end_epoch(self) -> None:
        """Keep the weights of the runs that improved; send the runs that stopped improving back to their best."""
        loss, counts = np.where(self.sums[1, 1] > 0, self.sums[1], self.sums[0])
        losses = loss / np.maximum(counts, 1)
        self.losses.append(losses)
        self.shares_of_epochs.append(self.shares)
        for run, (plateau, value) in enumerate(zip(self.runs, losses.tolist())):
            better, back = plateau.tell(value)
            for name, weights in self.learner.named_parameters():
                if better:
                    self.best[name][run] = weights[run]
                elif back:
                    weights[run] = self.best[name][run]
            if back:
                # Moments of gradients at other weights do not apply to these.
                self.optimizers[run] = self._adam(run)
        self._reset()

    @torch.no_grad()
    def finish(self) -> Record:
        """Load the best weights and return the record."""
        for name, value in self.learner.named_parameters():
            value.copy_(self.best[name])
        best, settled = np.array([run.best for run in self.runs]), np.array([run.done for run in self.runs])
        return Record(self.losses, self.shares_of_epochs, best, settled)
