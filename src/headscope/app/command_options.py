"""The options of a run that the command of an analysis takes, on the command line and in Python."""

from collections.abc import Iterator

from headscope.declarations.analysis import Analysis, Stage
from headscope.declarations.analysis_list import STAGES
from headscope.declarations.command import Command
from headscope.declarations.option import Option, options_of
from headscope.declarations.run_options import RunOptions


def options_taken(analysis: Analysis, command: Command, declaring: type[RunOptions]) -> list[Option]:
    """Return the options of a run that a command takes as they are, in the order of their fields."""
    stages = list(stages_measured(analysis))
    corpora = {corpus for stage in stages for corpus in stage.corpora}
    shaping = {name for stage in stages for name in stage.options} - set(command.without)
    reworded = {option.name for option in command.reworded}

    def is_taken(option: Option) -> bool:
        if option.name in reworded:
            return False
        if option.holds:
            return bool(corpora & set(option.holds))
        if option.name == "maps":
            return any(stage.over_maps for stage in stages)
        return (
            option.group in ("model", "machine")
            or option.shaping in shaping
            or bool(corpora & set(option.of))
        )

    return [each for each in options_of(declaring).values() if is_taken(each)]


def stages_measured(analysis: Analysis) -> Iterator[Stage]:
    """Yield the stages that an analysis's command measures, and those that may go beside them."""
    known = {**STAGES, **{stage.name: stage for stage in analysis.stages}}
    yield from (
        stage for stage in known.values() if {stage.request_name, stage.companion_of} & set(analysis.measured)
    )
