"""One training in its folder: steps, held-out evaluations, and files written so that a kill loses little."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from headscope.errors import InputError
from headscope.statistics.inference.confidence import too_few
from headscope.storage.files import write_text
from headscope.storage.lock import check_held
from headscope_train.card import model_card
from headscope_train.checkpoints import RESUME, checkpoint_path, publish, read_resume, write_checkpoint, write_resume
from headscope_train.loop import Trainer
from headscope_train.optimizer import load_state, rate_at, state_tensors
from headscope_train.prepared_training import Prepared
from headscope_train.record import LOG, Row, held_out_rows, read_log, table_of, train_rows, write_facts, write_log
from headscope_train.training_options import DEFAULT_STEPS

_LOGS_BETWEEN_CHECKPOINTS = 10


@dataclass(frozen=True)
class TrainingProgress:
    """The progress of a training.

    Attributes:
        step, steps: number of steps taken, and in total.
        loss: training loss since the last report, nats; None before the first step.
        held_out_loss, accuracy: measured just now, or None; nats and a fraction.
        seconds: time spent on it, earlier runs included.
        left: estimated seconds left, or None if unknown.
    """

    step: int
    steps: int
    loss: float | None
    held_out_loss: float | None
    accuracy: float | None
    seconds: float
    left: float | None


TrainingWatcher = Callable[[TrainingProgress], None]


class Session:
    """A running training: the trainer, the log so far, and the clock.

    Args:
        prepared: corpus, model and options.
        out: its folder; the state of a stopped session in it is resumed.
        before: contents of its `training.json`, or None.
        watch: receives progress.
        notes: notes for the user in addition to the session's own.
    """

    def __init__(
        self,
        prepared: Prepared,
        out: Path,
        before: dict[str, Any] | None,
        watch: TrainingWatcher | None,
        *,
        notes: Sequence[str] = (),
    ) -> None:
        self.prepared, self.out, self.watch = prepared, out, watch
        self.notes = [*_notes(prepared), *notes]
        self.files: dict[str, str] = {}
        self.options = prepared.options
        self.trainer = Trainer(prepared)
        if before is not None:
            self.steps = int(before["steps"])
        elif self.options.minutes is not None:
            self.steps = self.trainer.steps_in(self.options.minutes)
        else:
            self.steps = self.options.steps or DEFAULT_STEPS
        self.rows: list[Row] = []
        self.done, self.earlier = 0, 0.0
        try:
            self._go_on()
        except InputError:
            self.notes.append(
                f"what a stopped training left in {RESUME} or {LOG} was damaged: the training began again"
            )
        self.begun_at = self.done
        self.began = time.perf_counter()
        self._write_facts(complete=False)

    def _go_on(self) -> None:
        """Resume from the state of a stopped session.

        Raises:
            InputError: the state is damaged, and was not used.
        """
        saved = read_resume(self.out)
        if saved is None:
            return
        tensors, about = saved
        log = read_log(self.out)
        load_state(self.trainer.model, self.trainer.optimizer, tensors)
        self.done, self.trainer.tokens = int(about["step"]), int(about["tokens"])
        self.earlier = float(about["seconds"])
        # Entries that were logged after the state was written will be logged again.
        self.rows = log[log["step"] <= self.done].to_dict("records")  # type: ignore[assignment]

    def finish(self) -> dict[str, Any]:
        """Take the remaining steps, write all files, and return the facts."""
        every = self.options.every
        if not self.rows:
            self._checkpoint()
        quiet = max(1, every // _LOGS_BETWEEN_CHECKPOINTS)
        while self.done < self.steps:
            checkpoint = min((self.done // every + 1) * every, self.steps)
            end = min((self.done // quiet + 1) * quiet, checkpoint)
            self.trainer.train(self.done, end, steps=self.steps)
            self.done = end
            loss, hits, n_targets = self.trainer.take_sums(end)
            rows = train_rows(loss, hits, n_targets, self._moment()) if n_targets else []
            self.rows += rows
            if end == checkpoint:
                self._checkpoint()
            else:
                self._tell(rows)
        check_held(self.out)
        self.files |= publish(checkpoint_path(self.out, self.steps), self.out)
        facts = self._facts(complete=True)
        name = self.out.resolve().name
        write_text(self.out / "README.md", model_card(facts, table_of(self.rows), self.prepared.objective, name=name))
        write_facts(self.out, facts)
        (self.out / RESUME).unlink(missing_ok=True)
        return facts

    def _checkpoint(self) -> None:
        """Evaluate, log, and write the model and the state for resuming; the state last, as it marks completeness."""
        values = self.trainer.measure()
        rows = [] if values is None else held_out_rows(values, self._moment())
        self.rows += rows
        check_held(self.out)
        self.files[LOG] = write_log(self.out, self.rows)
        write_checkpoint(checkpoint_path(self.out, self.done), self.trainer.model, self.prepared.start.tokenizer)
        about = {
            "step": str(self.done),
            "tokens": str(self.trainer.tokens),
            "seconds": repr(self._seconds()),
            "signature": str(self.prepared.facts["signature"]),
        }
        write_resume(self.out, state_tensors(self.trainer.model, self.trainer.optimizer), about)
        self._tell([row for row in self.rows if row["step"] == self.done])

    def _moment(self) -> Row:
        last = max(self.done - 1, 0)
        rate = rate_at(last, steps=self.steps, highest=self.options.rate, warm_up=self.options.warm_up)
        return {
            "step": self.done,
            "epoch": self.trainer.batches.at(last)[0],
            "tokens": self.trainer.tokens,
            "learning_rate": rate if self.done else 0.0,
            "seconds": self._seconds(),
        }

    def _seconds(self) -> float:
        return self.earlier + time.perf_counter() - self.began

    def _tell(self, rows: list[Row]) -> None:
        if self.watch is None:
            return
        values = {(row["split"], row["measure"]): row["value"] for row in rows}
        taken = self.done - self.begun_at
        each = (time.perf_counter() - self.began) / taken if taken else None
        self.watch(
            TrainingProgress(
                step=self.done,
                steps=self.steps,
                loss=values.get(("train", "loss")),
                held_out_loss=values.get(("held-out", "loss")),
                accuracy=values.get(("held-out", "accuracy")),
                seconds=self._seconds(),
                left=None if each is None else each * (self.steps - self.done),
            )
        )

    def _write_facts(self, *, complete: bool) -> None:
        write_facts(self.out, self._facts(complete=complete))

    def _facts(self, *, complete: bool) -> dict[str, Any]:
        trainer, prepared = self.trainer, self.prepared
        return {
            **prepared.facts,
            "complete": complete,
            "steps": self.steps,
            "tokens": trainer.tokens,
            "epochs": round(self.done / trainer.batches.in_epoch, 4),
            "seconds": round(self._seconds(), 1),
            "device": str(trainer.device),
            "precision": trainer.precision,
            "threads": torch.get_num_threads(),
            "notes": self.notes,
            "files": self.files if complete else {},
        }


def _notes(prepared: Prepared) -> list[str]:
    notes = list(prepared.notes)
    held_out, data = prepared.facts["data"]["held_out"], prepared.facts["data"]
    if prepared.start.new_head:
        notes.append(
            f"{prepared.start.name} has no trained {prepared.objective.head_words}: a new one is trained, "
            "and its first losses are those of chance"
        )
    if held_out["inputs"] and data["documents"] == 1:
        notes.append("the corpus is one document: the held-out inputs are of the same document")
    if held_out["documents"] and (few := too_few(held_out["documents"], here="here are")):
        notes.append(f"held out: {few}")
    return notes
