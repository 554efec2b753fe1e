"""The declaration of an analysis's command, from which the command line builds it."""

from dataclasses import dataclass

from headscope.declarations.option import Option


@dataclass(frozen=True, kw_only=True)
class OutputFile:
    """A file that a command writes on request.

    Attributes:
        option: option that names the file. `out` replaces the option for the folder of tables.
        check: `module:function` within the analysis's folder that rejects an invalid path before anything is loaded.
        write: `module:function` that writes results, by stage, to a path, and returns lines to print at the end.
    """

    option: Option
    check: str
    write: str


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command that measures an analysis and renders its results in a terminal.

    It takes the corpora that its stages read, the options that they name, and those of every run.

    Attributes:
        name: name of the command.
        help: help text: a sentence, and further paragraphs if needed.
        stages: requests that it measures, if they differ from those of the analysis.
        reworded: run options whose help differs for this command; they come first.
        without: options that change its stages' numbers but that the command does not take.
        shown: display options, which the rendering function takes by name; they are not options of a run.
        files: files that it can write.
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
