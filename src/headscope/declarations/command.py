"""The declaration of an analysis's command, from which the command line makes it."""

from dataclasses import dataclass

from headscope.declarations.option import Option


@dataclass(frozen=True, kw_only=True)
class OutputFile:
    """A file that a command writes on request.

    Attributes:
        option: that names the file. `out` replaces the option of the folder of tables.
        check: `module:function` within the analysis's folder that refuses a path before anything is loaded.
        write: `module:function` that writes results, by stage, to a path, and returns lines to say at the end.
    """

    option: Option
    check: str
    write: str


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command that measures an analysis and renders its results in a terminal.

    It takes the corpora that its stages read, the options that they name, and those of every run.

    Attributes:
        name: as it is typed.
        help: a sentence, and paragraphs where there is more to say.
        stages: the requests that it measures, where they are not those of the analysis.
        reworded: options of a run whose help differs for this command; they come first.
        without: options that shape its stages' numbers and that it does not take.
        shown: options of what is shown, which the function that renders takes by their names; none of a run's.
        files: that it can write.
        tells_run: whether it prints notes on the text.
    """

    name: str
    help: str
    stages: tuple[str, ...] = ()
    reworded: tuple[Option, ...] = ()
    without: tuple[str, ...] = ()
    shown: tuple[Option, ...] = ()
    files: tuple[OutputFile, ...] = ()
    tells_run: bool = False
