"""`headscope report` and `headscope merge`: read corpora, or join parts of a run, and write a page on every head."""

from collections.abc import Collection
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from headscope.app import typed as o
from headscope.app.beside_run import BUNDLE, OUT_FOLDER, QUIET, RUN
from headscope.app.cli.printing import ProgressPrinter, say
from headscope.app.run_arguments import in_order
from headscope.errors import OptionError
from headscope.running.ray_connection import ClusterOptions
from headscope.scans.declarations.option import Option, options_of, switch
from headscope.scans.declarations.run_options import RunOptions
from headscope.visible import count

if TYPE_CHECKING:
    from headscope.present.study import Study

_FIRST = ("text", "model", "revision", "treebank", "treebank_train", "coref", "loss", "maps", "strict_input")


_SHARD = Option(
    name="shard",
    group="machine",
    placeholder="I/N",
    help="Scan the I-th of N parts of the text into OUT, which headscope merge joins with the others.",
)
_ENGINE = Option(
    name="engine",
    group="machine",
    choices=("ray",),
    help="ray: scan on a Ray cluster, with one model in each worker; in this process when not given.",
)
_DRY_RUN = switch(
    "dry_run", "Only say what the run would take: passes, time from a timed batch, memory.", group="machine"
)
_CLUSTER = options_of(ClusterOptions)
_DEVICE = replace(
    RUN["device"], kind=str | None, default=None, help="Device of the model here; the parts' device when not given."
)
_MERGED = replace(OUT_FOLDER, kind=Path, required=True, help="Folder of the run: new, empty, or of the same run.")


@o.takes(
    *(OUT_FOLDER, BUNDLE, _DRY_RUN, _SHARD, _ENGINE, *_CLUSTER.values()),
    *in_order(RUN.values(), first=_FIRST),
    QUIET,
    files=True,
)
def report(
    *, out: Path | None, bundle: bool, dry_run: bool, shard: str | None, engine: str | None, quiet: bool, **values: Any
) -> None:
    """Run a model over text and write a report on every head.

    A treebank and coreference add results on syntax and on antecedents.

    Without any corpus, the demonstration corpora are read. In a folder that already holds a report, only what other
    options or corpora change is measured again.
    """
    of_cluster = {name: values.pop(name) for name in _CLUSTER}
    options = o.run_options(RunOptions, **values)
    cluster = _cluster(options, engine, of_cluster, shard=shard)
    if dry_run:
        _say_cost(options, quiet=quiet)
        return
    if shard is not None:
        _scan_part(options, shard, out=out, quiet=quiet)
        return
    with ProgressPrinter(quiet=quiet, options=options) as watch, cluster as running:
        from headscope.reporting.atlas_files import run_report

        study = run_report(options, out=out, watch=watch, engine=running)
    _say_study(study, noted=watch.noted)
    if out is None:
        say(f"folder: {study.path} (--out names another)")
    _say_pages(study, bundle=bundle)


def _cluster(
    options: RunOptions, engine: str | None, of_cluster: dict[str, Any], *, shard: str | None
) -> AbstractContextManager[Any]:
    """Return the context that holds the requested cluster; an empty context if none was requested.

    Raises:
        OptionError: the options contradict one another, or Ray is not installed.
    """
    set_options = {name: value for name, value in of_cluster.items() if value is not None}
    if engine is None:
        if set_options:
            flag = _CLUSTER[next(iter(set_options))].flag
            raise OptionError(f"{flag} says something of a cluster; give --engine ray with it")
        return nullcontext()
    if shard is not None:
        raise OptionError("--shard and --engine ray both divide the run; leave one of the two out")
    if options.maps is not None:
        raise OptionError(
            "--engine ray is for a model that reads text; saved maps are read at once: leave one of the two out"
        )
    from headscope.running.ray_engine import RayEngine

    return RayEngine(ClusterOptions(**set_options))


def _say_cost(options: RunOptions, *, quiet: bool) -> None:
    """Print the expected cost of a run."""
    if options.maps is not None:
        raise OptionError("--dry-run times a model; saved maps are read without one: leave one of the two out")
    with ProgressPrinter(quiet=quiet, options=options) as watch:
        from headscope.running.run_cost import run_cost
        from headscope.scans.prepare.prepared_run import prepare_model_run

        cost = run_cost(prepare_model_run(options, watch=watch))
    for line in cost.lines():
        say(line)


def _scan_part(options: RunOptions, shard: str, *, out: Path | None, quiet: bool) -> None:
    """Scan one part of a run."""
    from headscope.running.parts import check_options, read_part_number, write_part
    from headscope.scans.prepare.prepared_run import prepare_model_run

    part = read_part_number(shard)
    check_options(options)
    if out is None:
        raise OptionError("--shard needs --out: a folder of its own for each part")
    with ProgressPrinter(quiet=quiet, options=options) as watch:
        run = prepare_model_run(options, watch=watch)
        number = write_part(run, out, part, options=options, watch=watch)
    say(f"part {part.number} of {part.of}: {count(number, 'shard')} in {out}")
    say("when all parts are finished: headscope merge DIR ... --out REPORT, with the folders of all of them")


@o.takes(_MERGED, BUNDLE, _DEVICE, QUIET)
def merge(
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
    from headscope.running.parts import read_parts

    read = read_parts(parts)
    options = read[0].options if device is None else replace(read[0].options, device=device)
    with ProgressPrinter(quiet=quiet, options=options) as watch:
        from headscope.reporting.atlas_files import run_report

        study = run_report(options, out=out, watch=watch, parts=read)
    _say_study(study, noted=watch.noted)
    _say_pages(study, bundle=bundle)


def _say_study(study: "Study", *, noted: Collection[str] = ()) -> None:
    """Print the findings of a study, and the notes that the user should see.

    Args:
        study: the finished run.
        noted: notes that were shown before, which are not repeated.
    """
    from headscope.reporting.story import first_findings

    say(study.summary())
    for finding in first_findings(study):
        say(f"- {finding}")
    for note in study.manifest["notes"]:
        if note not in noted:
            say(f"note: {note}")


def _say_pages(study: "Study", *, bundle: bool) -> None:
    """Print the paths of the pages, and bundle them if requested."""
    from headscope.reporting.atlas_files import ATLAS

    say(f"atlas: {study.path / ATLAS / 'index.html'}")
    say(f"report: {study.report_path}")
    if bundle:
        from headscope.reporting.atlas_files import write_bundle

        packed = write_bundle(study)
        say(f"to send: {packed} ({packed.stat().st_size / 1e6:.1f} MB; unpack it, then open report.html)")
