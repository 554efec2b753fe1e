"""`headscope export` and `headscope atlas`: a run's tables and figures, and a page with a card for each head."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from headscope.app import typed as o
from headscope.app.beside_run import OUT_FOLDER
from headscope.app.cli.printing import say
from headscope.declarations.option import Option

StudyFolder = Annotated[Path, o.argument("DIR", "Folder of a headscope report.", group="corpora")]
_FORM = Option(name="form", flags=("--format",), group="output", help="Tables: csv, latex or xlsx; csv by default.")
_FIGURES = Option(
    name="figures",
    group="other",
    help="Figures: one or two (columns of a page: 3.3 or 6.9 inches) as PDF and SVG, or screen, as PNG, too.",
)
_STYLE = Option(
    name="style", group="other", help="With --figures: widths and fonts of neurips, acl or plain; plain by default."
)
_OUT = replace(OUT_FOLDER, help="Folder of the files; by default DIR-export, next to DIR.")
_SITE = replace(
    OUT_FOLDER, help="Folder of the site: new, empty, or that of an earlier atlas; by default DIR-atlas, next to DIR."
)


@o.takes(_FORM, _FIGURES, _STYLE, _OUT)
def export(study: StudyFolder, *, form: str | None, figures: str | None, style: str | None, out: Path | None) -> None:
    """Write a report's tables and figures for a paper.

    Tables for a paper: heads by role, attention by layer, behaviors, and tables 1 to 3 of Clark et al. 2019, if they
    were measured. CSV and Excel contain every other table of the run, too. With --figures and no --format, only the
    figures are written.
    """
    from headscope.errors import OptionError
    from headscope.present.study import open_study
    from headscope.reporting.export import export as write_tables
    from headscope.visible import count

    if style is not None and figures is None:
        raise OptionError("--style is of figures; give --figures one or two with it")
    opened, folder_out = open_study(study), out or _beside(study, "export")
    if figures is not None:
        from headscope.reporting.export import export_figures

        drawn = export_figures(opened, folder_out, columns=figures, style=style)
        said = f"{count(len(drawn), 'file')} in {drawn[0].parent}" if drawn else "the run has nothing to draw"
        say(f"figures: {said}")
        if form is None:
            return
    written = write_tables(opened, folder_out, form=form or "csv")
    for path in written[:3]:
        say(f"table: {path}")
    if len(written) > 3:
        say(f"and {count(len(written) - 3, 'more table')} in {written[0].parent}")


@o.takes(_SITE)
def atlas(study: StudyFolder, *, out: Path | None) -> None:
    """Write the atlas of a report: a page with a card per head.

    Heads can be found on a map, by filters or in words.

    One file, index.html, which loads nothing; a head's card is index.html#encoder-8-10, two are compared at
    index.html#encoder-8-10~encoder-3-1.
    """
    from headscope.app.api import head_atlas

    page = head_atlas(study, out=out or _beside(study, "atlas"))
    say(f"atlas: {page} ({page.stat().st_size / 1e6:.1f} MB)")


def _beside(study: Path, name: str) -> Path:
    """Return the folder `DIR-name` next to the report's folder, even if that was given as `.`."""
    folder = study.resolve()
    return folder.with_name(f"{folder.name}-{name}")
