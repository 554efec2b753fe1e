"""`headscope export`: write a finished run's figures, and its tables for a paper or a spreadsheet."""

from dataclasses import replace
from pathlib import Path

from headscope.app.cli.printing import say
from headscope.app.cli.study_folder import StudyFolder, beside
from headscope.app.options import typed as o
from headscope.app.options.beside_run import OUT_FOLDER
from headscope.declarations.option import Option

_FORM = Option(name="form", flags=("--format",), group="output", help="Tables: csv, latex or xlsx; csv by default.")
_FIGURES = Option(
    name="figures",
    group="other",
    help="Figures: one or two (columns of a page: 3.3 or 6.9 inches) as PDF and SVG, or screen, as PNG and PDF.",
)
_STYLE = Option(
    name="style", group="other", help="With --figures: widths and fonts of neurips, acl or plain; plain by default."
)
_OUT = replace(OUT_FOLDER, help="Folder of the files; by default DIR-export, next to DIR.")


@o.takes(_FORM, _FIGURES, _STYLE, _OUT)
def command(study: StudyFolder, *, form: str | None, figures: str | None, style: str | None, out: Path | None) -> None:
    """Write a report's tables and figures for a paper.

    Tables for a paper: heads by role, attention by layer, behaviors, and tables 1 to 3 of Clark et al. 2019, if they
    were measured. CSV and Excel contain every other table of the run, too. With --figures and no --format, only the
    figures are written.
    """
    from headscope.counted import count
    from headscope.errors import OptionError
    from headscope.reporting.export import export
    from headscope.study.study import open_study

    if style is not None and figures is None:
        raise OptionError("--style is of figures; give --figures one or two with it")
    opened, folder_out = open_study(study), out or beside(study, "export")
    if figures is not None:
        from headscope.reporting.export import export_figures

        drawn = export_figures(opened, folder_out, columns=figures, style=style)
        said = f"{count(len(drawn), 'file')} in {drawn[0].parent}" if drawn else "the run has nothing to draw"
        say(f"figures: {said}")
        if form is None:
            return
    written = export(opened, folder_out, form=form or "csv")
    for path in written[:3]:
        say(f"table: {path}")
    if len(written) > 3:
        say(f"and {count(len(written) - 3, 'more table')} in {written[0].parent}")
