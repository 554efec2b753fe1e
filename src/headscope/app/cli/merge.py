"""`headscope merge`: merge the parts of a run into one folder, as if one machine had done it."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from headscope.app.cli.report import say_pages, say_study
from headscope.app.options import typed as o
from headscope.app.options.beside_run import BUNDLE, OUT_FOLDER, QUIET, RUN

_DEVICE = replace(
    RUN["device"], kind=str | None, default=None, help="Device of the model here; the parts' device when not given."
)
_OUT = replace(OUT_FOLDER, kind=Path, required=True, help="Folder of the run: new, empty, or of the same run.")


@o.takes(_OUT, BUNDLE, _DEVICE, QUIET)
def command(
    parts: Annotated[
        list[Path], o.argument("DIR ...", "Folders that headscope report --shard wrote, all of them.", group="corpora")
    ],
    *,
    out: Path,
    bundle: bool,
    device: str | None,
    quiet: bool,
) -> None:
    """Join the parts of a report that several machines scanned.

    Text and model must still be at the same place: the sums are joined, and the model reads only the sentences on which
    heads are shown. Probes are trained here.
    """
    from headscope.app.cli.progress_lines import ProgressPrinter
    from headscope.running.parts import read_parts

    read = read_parts(parts)
    options = read[0].options if device is None else replace(read[0].options, device=device)
    with ProgressPrinter(quiet=quiet, options=options) as watch:
        from headscope.atlas.atlas_files import run_report

        study = run_report(options, out=out, watch=watch, parts=read)
    say_study(study, noted=watch.noted)
    say_pages(study, bundle=bundle)
