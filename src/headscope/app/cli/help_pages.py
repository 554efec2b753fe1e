"""`--help` with plain headings on any terminal: options grouped by topic, with their possible values."""

from typing import Any

import typer.core

from headscope.declarations.option import GROUPS

_INDENT = 6
"""Width that click leaves empty before and between the two columns of a list."""


class GroupedProgram(typer.core.TyperGroup):
    """The program, whose help lists its commands under headings."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, grouped by heading."""
        names = self.list_commands(ctx)
        longest = max(map(len, names))
        records: dict[str, list[tuple[str, str]]] = {}
        for name in names:
            command: Any = self.get_command(ctx, name)
            line = command.get_short_help_str(formatter.width - longest - _INDENT)
            records.setdefault(command.rich_help_panel, []).append((name.ljust(longest), line))
        for heading, lines in records.items():
            with formatter.section(heading):
                formatter.write_dl(lines)


class GroupedCommand(typer.core.TyperCommand):
    """A command whose help lists its options under headings."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options, grouped by heading."""
        records: dict[str, list[tuple[str, str]]] = {title: [] for title in GROUPS.values()}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                records[panel_of(parameter)].append(record)
        for title, lines in records.items():
            if lines:
                with formatter.section(title):
                    formatter.write_dl(lines)


def panel_of(parameter: Any) -> str:
    """Return the heading under which an option is listed."""
    # Click's own option, `--help`, has no heading.
    otherwise = GROUPS["machine" if parameter.name == "help" else "other"]
    return str(getattr(parameter, "rich_help_panel", None) or otherwise)
