"""`headscope train`, the command that this package adds to the program (entry point `headscope.commands`)."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headscope.app.cli.printing import say, say_beside
from headscope.app.cli.program_commands import ProgramCommand
from headscope.app.options import typed as o
from headscope.counted import count
from headscope.declarations.option import choose
from headscope.errors import OptionError
from headscope_train.training_options import OBJECTIVES, PRECISIONS

if TYPE_CHECKING:
    from headscope_train.session import TrainingProgress

_SECONDS_BETWEEN_LINES = 10.0
_ACCURACY = {"mlm": "masked accuracy", "clm": "next-token accuracy"}


def command(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder of the training: new, empty, or of the same training.")
    ],
    text: Annotated[
        list[str] | None,
        typer.Option("--text", help="Text, a folder of it, or - for standard input; may be repeated."),
    ] = None,
    treebank: Annotated[
        list[str] | None,
        typer.Option("--treebank", help="Treebank whose sentences are trained on; may be repeated."),
    ] = None,
    model: o.Model = None,
    revision: o.Revision = None,
    objective: Annotated[
        str,
        typer.Option(
            metavar="[mlm|clm]",
            help="Foretell masked words (an encoder), or the next token (a decoder).",
        ),
    ] = "mlm",
    size: Annotated[
        str | None,
        typer.Option(
            help="LAYERSxHEADSxWIDTH of a new BERT, or with clm of a new Llama, as 4x4x128; without it --model is "
            "trained on.",
            show_default=False,
            rich_help_panel="Model",
        ),
    ] = None,
    groups: Annotated[
        int | None,
        typer.Option(
            help="Keys and values that the heads of a new decoder's layer share; one for each when not given.",
            show_default=False,
        ),
    ] = None,
    repeated: Annotated[
        float, typer.Option(help="Share of the inputs of clm in which something stands more than once.")
    ] = 0.0,
    guided: Annotated[
        float,
        typer.Option(
            help="Share of the steps of clm, from the first, in which two heads are shown where to look."
        ),
    ] = 0.0,
    tokenizer: Annotated[
        str | None,
        typer.Option(
            "--tokenizer",
            help="Model whose tokenizer a new model takes; without it one is trained on the text.",
            show_default=False,
        ),
    ] = None,
    vocabulary: Annotated[
        int | None,
        typer.Option(
            help="Pieces of the trained tokenizer at most; 8000 when not given.",
            show_default=False,
            rich_help_panel="Model",
        ),
    ] = None,
    cased: Annotated[bool, typer.Option("--cased", help="Let the trained tokenizer keep case.")] = False,
    steps: Annotated[
        int | None, typer.Option(help="Batches; 1000 when not given.", show_default=False)
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(help="About how long, in place of --steps.", show_default=False)
    ] = None,
    every: Annotated[int, typer.Option(help="Steps between checkpoints.")] = 500,
    batch_size: Annotated[int, typer.Option(help="Inputs in a batch.")] = 32,
    learning_rate: Annotated[
        float | None,
        typer.Option(
            help="At its highest; 1e-4 to train a model on, 1e-3 for a new one, when not given.",
            show_default=False,
        ),
    ] = None,
    warm_up: Annotated[float, typer.Option(help="Share of the steps over which the rate rises.")] = 0.1,
    dropout: Annotated[float, typer.Option(help="Share of activations left out.")] = 0.0,
    held_out: Annotated[float, typer.Option(help="Share of the documents kept for measuring.")] = 0.05,
    packing: o.Packing = "pretraining",
    max_length: o.MaxLength = 128,
    max_inputs: o.MaxInputs = None,
    seed: o.Seed = 0,
    device: o.Device = "auto",
    dtype: Annotated[
        str,
        typer.Option(
            metavar="[auto|float32|bfloat16]",
            help="float32, bfloat16 (autocast), or auto: bfloat16 on a GPU alone.",
        ),
    ] = "auto",
    quiet: o.Quiet = False,
) -> None:
    """Train a model further, or a small one from scratch.

    It foretells masked words or the next token, and checkpoints are kept along the way.

    A training that was stopped goes on when the same command is given again, to the same weights.
    """
    choose("--objective", objective, tuple(OBJECTIVES))
    choose("--dtype", dtype, PRECISIONS)
    if not (text or treebank):
        raise OptionError("nothing to train on was given; expected --text with a text file, or --treebank")

    from headscope.report_kit.numbers import bracketed_interval
    from headscope_train.training_options import Size, TrainOptions
    from headscope_train.training_run import run_training

    options = TrainOptions(
        text=tuple(text or ()),
        treebank=tuple(treebank or ()),
        model=model,
        revision=revision,
        objective=objective,
        size=None if size is None else Size.read(size),
        groups=groups,
        repeated=repeated,
        guided=guided,
        tokenizer=tokenizer,
        vocabulary=vocabulary,
        cased=cased,
        packing=packing,
        max_length=max_length,
        max_inputs=max_inputs,
        steps=steps,
        minutes=minutes,
        every=every,
        batch_size=batch_size,
        learning_rate=learning_rate,
        warm_up=warm_up,
        dropout=dropout,
        held_out=held_out,
        seed=seed,
        device=device,
        dtype=dtype,
    )
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
            f"{_ACCURACY[objective]} {100 * last['value']['accuracy']:.1f}%"
            f"{bracketed_interval(*accuracy_ends, form='.1f', scale=100.0)}, "
            f"n = {count(int(last['n_targets']['loss']), 'token')}"
        )
    for note in facts["notes"]:
        say(f"note: {note}")
    say(f"card: {out / 'README.md'}")


COMMAND = ProgramCommand(name="train", heading="Train", function=command)


class TrainingPrinter:
    """Show how far a training is, on standard error: a line for each checkpoint, and between them every 10 seconds.

    Args:
        quiet: show nothing.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self._said = 0.0

    def __call__(self, progress: "TrainingProgress") -> None:
        """Show one state."""
        now = time.monotonic()
        if self.quiet or (progress.held_out_loss is None and now - self._said < _SECONDS_BETWEEN_LINES):
            return
        self._said = now
        say_beside(describe(progress))


def describe(progress: "TrainingProgress") -> str:
    """Say a state in one line: the step, the losses, and how much longer."""
    from headscope.app.cli.progress_lines import duration

    words = [f"step {progress.step:,} of {progress.steps:,}"]
    if progress.loss is not None:
        words.append(f"loss {progress.loss:.3f} nats")
    if progress.held_out_loss is not None and progress.accuracy is not None:
        words.append(f"held out {progress.held_out_loss:.3f} nats, {100 * progress.accuracy:.1f}% right")
    if progress.left:
        words.append(f"{duration(progress.left)} left")
    return ", ".join(words)
