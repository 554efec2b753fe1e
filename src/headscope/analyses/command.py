"""What an analysis declares of its command; the command line makes the command of it."""

from dataclasses import dataclass

from headscope.analyses.option import Option

LAST = 100


@dataclass(frozen=True, kw_only=True)
class OutputFile:
    """A file that a command writes where asked to.

    Attributes:
        option: that names the place. `out` takes the place of the folder of tables.
        check: `module:function` within the analysis's folder that refuses a path before anything is loaded.
        write: `module:function` that writes results, by stage, to a path, and returns lines to say at the end.
    """

    option: Option
    check: str
    write: str


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command that measures an analysis and shows it in a terminal.

    It takes the corpora that its stages read, the options that they name, and those of every run.

    Attributes:
        name: as it is typed.
        help: a sentence, and paragraphs where there is more to say.
        stages: what it measures, as one asks for it, where that is not all of the analysis and no more.
        reworded: options of a run that it words in its own way; they come first.
        without: options that shape its stages' numbers and that it does not take.
        files: what it can write.
        tells_run: whether notes on the text are said where no folder is written, which says them too.
        place: in the list of commands; after all others where none is given.
    """

    name: str
    help: str
    stages: tuple[str, ...] = ()
    reworded: tuple[Option, ...] = ()
    without: tuple[str, ...] = ()
    files: tuple[OutputFile, ...] = ()
    tells_run: bool = False
    place: int = LAST
