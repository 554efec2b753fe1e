"""The whole of a report: measure, write the run directory, draw, and write the pages."""

import tempfile
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from headscope.errors import OptionError
from headscope.prepare.options import RunOptions, as_paths
from headscope.prepare.progress import Watcher
from headscope.prepare.run import prepare
from headscope.reporting.run import measured_in
from headscope.storage.lock import folder_held
from headscope.study.folder import check_place
from headscope.study.study import Study, open_study
from headscope.study.writing import write_run

ATLAS = "atlas"


def report(
    model: str | Path | None = None,
    *,
    text: "str | Path | list[str | Path] | None" = None,
    treebank: "str | Path | list[str | Path] | None" = None,
    treebank_train: "str | Path | list[str | Path] | None" = None,
    coref: "str | Path | list[str | Path] | None" = None,
    out: str | Path | None = None,
    maps: str | Path | None = None,
    watch: Watcher | None = None,
    **options: Any,
) -> Study:
    """Run a model over text and write a report on what each attention head looks at.

    Args:
        model: hub name or folder; None for the embedded model.
        text: file, folder or several; None for the sentences of the treebank and the coreference corpus, and for the
            demonstration text where there are none.
        treebank: file, folder, name such as `ud:en_ewt`, or several: adds dependency heads (section 4.2).
        treebank_train: the same, to train probes on, which are measured on `treebank`: adds section 5.
        coref: file, folder or several: adds coreference heads (section 4.3).
        out: folder of the run; None makes a temporary one (`study.path`).
        maps: folder of saved maps, in place of model and text.
        watch: told of progress.
        **options: `packing`, `max_length`, `limit`, `loss`, `fold_labels`, `controls`, `device`, `seed` and more; see
            `RunOptions`. Without any corpus the demonstration ones are read.

    Returns:
        The study: labelled arrays, tables, and `report_path`.

    Raises:
        HeadscopeError: something in the way that the user can mend; its text says how.
    """
    if model is not None and not isinstance(model, str | Path):
        raise OptionError(f"model is a {type(model).__name__}; expected a hub name or a folder")
    known = [field.name for field in fields(RunOptions)]
    for name in options:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise OptionError(f"report has no option {name!r}; it has {', '.join(known)}{hint}")
    asked = RunOptions(
        model=None if model is None else str(model),
        text=as_paths(text),
        treebank=as_paths(treebank),
        treebank_train=as_paths(treebank_train),
        coref=as_paths(coref),
        maps=None if maps is None else Path(maps),
        **options,
    )
    folder = Path(tempfile.mkdtemp(prefix="headscope-")) if out is None else Path(out)
    return run_report(asked, out=folder, watch=watch)


def run_report(options: RunOptions, *, out: Path, watch: Watcher | None = None) -> Study:
    """Do what `report` does, from options that were put together before.

    The folder is looked at before the scan, so that no work is lost to a wrong `--out`; a finished run of
    the same signature is not computed again, only its figures and page are.
    """
    check_place(out)
    # Held from the start: a second run is told now, and not when its model is loaded.
    with folder_held(out) as held:
        write_run(prepare(options), out, watch=watch)
        study = open_study(out)
        held.check()
        draw(study)
    return study


def draw(study: Study) -> None:
    """Write the figures and the report's page of a run, and the head atlas beside it, which the page links."""
    from headscope.atlas.page import INDEX, write_atlas
    from headscope.reporting.page import write_report

    write_report(measured_in(study), study.path, atlas=f"{ATLAS}/{INDEX}")
    write_atlas(study, study.path / ATLAS, report=f"../{study.report_path.name}")
