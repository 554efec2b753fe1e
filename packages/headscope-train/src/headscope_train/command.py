"""`headscope train`, the command that this package adds to the program (entry point `headscope.commands`)."""

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.app import typed as o
from headscope.app.beside_run import OUT_FOLDER, QUIET
from headscope.app.cli.printing import say, say_beside
from headscope.app.cli.program_commands import ProgramCommand
from headscope.errors import OptionError
from headscope.scans.declarations.option import options_of
from headscope.visible import count
from headscope_train.size import Size
from headscope_train.training_options import TrainOptions

if TYPE_CHECKING:
    from headscope_train.session import TrainingProgress

_SECONDS_BETWEEN_LINES = 10.0
_ACCURACY = {"mlm": "masked accuracy", "clm": "next-token accuracy"}


_OPTIONS = {**options_of(TrainOptions), "size": replace(options_of(TrainOptions)["size"], kind=str | None)}


_OUT = replace(
    OUT_FOLDER, kind=Path, required=True, help="Folder of the training: new, empty, or of the same training."
)


@o.takes(_OUT, *_OPTIONS.values(), QUIET)
def command(*, out: Path, size: str | None, quiet: bool, **values: Any) -> None:
    """Train a model further, or a small one from scratch.

    It foretells masked words or the next token, and checkpoints are kept along the way.

    A training that was stopped goes on when the same command is given again, to the same weights.
    """
    if not (values["text"] or values["treebank"]):
        raise OptionError("nothing to train on was given; expected --text with a text file, or --treebank")

    options = o.run_options(TrainOptions, **values, size=None if size is None else Size.read(size))
    from headscope.present.numbers import bracketed_interval
    from headscope_train.training_run import run_training

    training = run_training(options, out=out, watch=TrainingPrinter(quiet=quiet))
    facts = training.facts
    say(
        f"{facts['start']['name']}, {count(facts['steps'], 'step')} on {facts['data']['name']}: "
        f"{count(len(training.checkpoints), 'checkpoint')} in {out}"
    )
    log = training.log
    last = log[(log["split"] == "held-out") & (log["step"] == facts["steps"])].set_index("measure")
    if len(last):
        loss_ends, accuracy_ends = (last.loc[name, ["ci_low", "ci_high"]] for name in ("loss", "accuracy"))
        say(
            f"held out: loss {last['value']['loss']:.3f} nats{bracketed_interval(*loss_ends, form='.3f')}, "
            f"{_ACCURACY[options.objective]} {100 * last['value']['accuracy']:.1f}%"
            f"{bracketed_interval(*accuracy_ends, form='.1f', scale=100.0)}, "
            f"n = {count(int(last['n_targets']['loss']), 'token')}"
        )
    for note in facts["notes"]:
        say(f"note: {note}")
    say(f"card: {out / 'README.md'}")


COMMAND = ProgramCommand(name="train", heading="Train", function=command)


class TrainingPrinter:
    """Print the progress of a training on standard error: a line for each checkpoint, and every 10 seconds in between.

    Args:
        quiet: True to print nothing.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self._said = 0.0

    def __call__(self, progress: "TrainingProgress") -> None:
        """Print one state."""
        now = time.monotonic()
        if self.quiet or (progress.held_out_loss is None and now - self._said < _SECONDS_BETWEEN_LINES):
            return
        self._said = now
        say_beside(describe(progress))


def describe(progress: "TrainingProgress") -> str:
    """Return one line about a state: the step, the losses, and the time left."""
    from headscope.visible import duration

    words = [f"step {progress.step:,} of {progress.steps:,}"]
    if progress.loss is not None:
        words.append(f"loss {progress.loss:.3f} nats")
    if progress.held_out_loss is not None and progress.accuracy is not None:
        words.append(f"held out {progress.held_out_loss:.3f} nats, {100 * progress.accuracy:.1f}% right")
    if progress.left:
        words.append(f"{duration(progress.left)} left")
    return ", ".join(words)
