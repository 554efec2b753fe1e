"""The steps of a training, and nothing else: no files, and the clock only for planning."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor

from headscope.errors import OptionError
from headscope.models.placement import choose_device
from headscope_train.batches import Batches, TargetBatch
from headscope_train.guided_heads import attending_eagerly, guiding_loss, strength_at
from headscope_train.measuring import HeldOut, measure_held_out
from headscope_train.optimizer import make_optimizer, rate_at, take_step
from headscope_train.prepared_training import Prepared
from headscope_train.scores import asked_scores, loss_and_hits, scores_and_weights

_TIMED, _WARMING = 8, 2  # number of steps timed for --minutes, and of warm-up steps before them


class Trainer:
    """A model under training.

    Args:
        prepared: corpus, model and options.

    Attributes:
        model: the model on its device, in training mode.
        optimizer: AdamW.
        tokens: number of tokens read, without padding.
        epoch: epoch of the last step, from 0.
    """

    def __init__(self, prepared: Prepared) -> None:
        options = prepared.options
        self.prepared = prepared
        self.device = choose_device(options.device)
        half = options.dtype == "bfloat16" or (options.dtype == "auto" and self.device.type == "cuda")
        self.precision = "bfloat16" if half else "float32"
        self.model: Any = prepared.start.model.to(self.device).train()
        self.optimizer = make_optimizer(self.model)
        self.batches = Batches(prepared.inputs.lengths, prepared.train, size=options.batch_size, seed=options.seed)
        self.tokens = self.epoch = 0
        self._sums = torch.zeros(2, dtype=torch.float64)
        self._asked = 0

    def step(self, number: int, *, rate: float, guiding: float = 0.0) -> None:
        """Take one step, counted from 0, at a learning rate; `guiding` is the weight of the guiding loss."""
        prepared = self.prepared
        self.epoch, places = self.batches.at(number)
        batch = prepared.question.batch(prepared.inputs, places, epoch=self.epoch)
        self.tokens += batch.tokens
        # The dropout of a step does not depend on earlier steps, so that a stopped training can be resumed.
        torch.manual_seed((prepared.options.seed << 32) + number)
        batch = batch.to(self.device)
        with self._computing():
            scores, shown = self._answer(batch, guiding=guiding)
            losses, hits = loss_and_hits(scores, batch.targets)
        if len(losses):  # a batch with only special tokens has no targets
            torch.autograd.backward(losses.mean() + guiding * shown)
            take_step(self.optimizer, rate=rate)
            self._sums += torch.stack([losses.detach().sum(), hits.sum()]).double().cpu()
            self._asked += len(losses)

    def _answer(self, batch: TargetBatch, *, guiding: float) -> tuple[Tensor, Tensor]:
        types = self.prepared.types
        if not guiding:
            return asked_scores(self.model, batch, types=types), torch.zeros(())
        with attending_eagerly(self.model):
            scores, weights = scores_and_weights(self.model, batch, types=types)
        return scores, guiding_loss(weights, batch.ids, batch.valid)

    def train(self, begin: int, end: int, *, steps: int) -> None:
        """Take the steps from `begin` up to, but not including, `end`, of `steps` in total."""
        options = self.prepared.options
        for number in range(begin, end):
            self.step(
                number,
                rate=rate_at(number, steps=steps, highest=options.rate, warm_up=options.warm_up),
                guiding=strength_at(number, steps=steps, share=options.guided),
            )

    def take_sums(self, step: int) -> tuple[float, float, int]:
        """Return the sum of losses, the number of hits, and the number of predicted tokens since the last call.

        Raises:
            OptionError: the loss is NaN or infinite; the message has `step`, at which it was noticed.
        """
        (loss, hits), n_targets = self._sums.tolist(), self._asked
        self._sums, self._asked = torch.zeros_like(self._sums), 0
        if not abs(loss) < float("inf"):
            raise OptionError(
                f"the loss is not a number after {step:,} steps; give a lower --learning-rate (it is "
                f"{self.prepared.options.rate:g}) and another --out"
            )
        return loss, hits, n_targets

    def measure(self) -> HeldOut | None:
        """Measure the loss on the held-out inputs; None without held-out inputs."""
        prepared = self.prepared
        if not len(prepared.held_out):
            return None
        return measure_held_out(
            self.model,
            prepared.inputs,
            prepared.held_out,
            prepared.question,
            batch_size=prepared.options.batch_size,
            types=prepared.types,
            precision=self._computing(),
        )

    def steps_in(self, minutes: float) -> int:
        """Estimate the number of steps that take the given minutes on this machine, evaluations included.

        A few steps are taken with a learning rate of 0, which changes no weight; the optimizer is then reset.
        """
        for step in range(_WARMING):
            self.step(step, rate=0.0)
        began = time.perf_counter()
        for step in range(_WARMING, _WARMING + _TIMED):
            self.step(step, rate=0.0)
        each = (time.perf_counter() - began) / _TIMED
        began = time.perf_counter()
        self.measure()
        look = time.perf_counter() - began
        self.optimizer = make_optimizer(self.model)
        self.tokens = 0
        self.take_sums(0)
        return max(1, int((60 * minutes - look) / (each + look / self.prepared.options.every)))

    def _computing(self) -> Any:
        if self.precision == "float32":
            return nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)


@contextmanager
def reproducible(device: torch.device) -> Iterator[None]:
    """Restore the user's random state afterwards, and on a GPU use deterministic kernels."""
    before, warned = (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )
    devices = range(torch.cuda.device_count()) if device.type == "cuda" else []
    with torch.random.fork_rng(devices=list(devices)):
        if device.type == "cuda":
            torch.use_deterministic_algorithms(True, warn_only=True)
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(before, warn_only=warned)
