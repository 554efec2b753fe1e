"""`--help` in plain headings, whatever the terminal: options by what they are about, and what they can be."""

from typing import Any

import typer.core

from headscope.declarations.option import GROUPS

_OTHERS = "Options"
_INDENT = 6
"""What click leaves free before and between the two columns of a list."""
# The headings of options that commands declare themselves, without a group.
_OF_NAME = {
    **dict.fromkeys(
        ("files", "text", "text_b", "decoder_text", "treebank", "source", "num_docs", "study", "parts"),
        "Input",
    ),
    **dict.fromkeys(("model", "revision", "tokenizer", "cased", "debug"), "Model"),
    **dict.fromkeys(("out", "bundle", "force", "form", "store", "matrix", "no_compress"), "Output"),
    **dict.fromkeys(("port", "no_browser", "help", "shard", "device"), "Machine"),
    **dict.fromkeys(("engine", "workers", "gpus_per_worker", "cpus_per_worker", "ray_address"), "Machine"),
}


class GroupedProgram(typer.core.TyperGroup):
    """The program, whose help lists its commands under headings."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, those of each heading together."""
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
        """Write the options, those of each heading together."""
        records: dict[str, list[tuple[str, str]]] = {title: [] for title in (*GROUPS.values(), _OTHERS)}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                records[panel_of(parameter)].append(record)
        order = ("Input", "Model", "Measure", _OTHERS, "Output", "Machine")
        for title in order:
            if records[title]:
                with formatter.section(title):
                    formatter.write_dl(records[title])


def panel_of(parameter: Any) -> str:
    """Return the heading that an option stands under."""
    declared: str | None = getattr(parameter, "rich_help_panel", None)
    return declared or _OF_NAME.get(parameter.name, _OTHERS)
