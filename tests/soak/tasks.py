"""Tasks to kill: a report with every stage, parts that are merged, pages, attention maps, and a training."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headscope.errors import OutputError
from headscope.storage.places import is_own
from headscope.storage.sealed import read_sealed
from support.demo_treebank import demo_conllu
from support.model_folders import save_tiny_masked_lm

CLOCK = ("created", "seconds", "seal", "timings")
# Files that contain times, which are compared by their tables.
TIMED = ("training.parquet", "README.md")


@dataclass(frozen=True)
class Task:
    """One command that writes.

    Attributes:
        name: name in the summary.
        work: writes into the given folder, and resumes when called again.
    """

    name: str
    work: Callable[[Path], object]


def tasks(base: Path) -> list[Task]:
    """Return the tasks, with small corpora and a tiny random model in `base`."""
    (base / "dev.conllu").write_text(demo_conllu(1, 12), encoding="utf-8")
    (base / "train.conllu").write_text(demo_conllu(101, 112), encoding="utf-8")
    (base / "text.txt").write_text("The cat sat on the mat.\nIt slept.\n\nA dog came by.\nIt left.\n" * 8)
    model = str(save_tiny_masked_lm(base / "tiny"))

    def report(out: Path) -> None:
        import headscope as hs

        hs.report(
            model,
            text=base / "text.txt",
            treebank=base / "dev.conllu",
            treebank_train=base / "train.conllu",
            coref=base / "dev.conllu",
            loss="mlm",
            controls=1,
            seeds=1,
            max_length=64,
            shard_minutes=0,
            out=out / "report",
        )

    def maps(out: Path, **how: Any) -> None:
        from headscope.running.extraction import MapOptions, extract
        from headscope.scans.declarations.run_options import RunOptions

        options = RunOptions(
            model=model, text=(str(base / "text.txt"),), packing="single", max_length=32, stages=("stats",)
        )
        pickle = how.get("pickle", False)
        try:
            extract(options, out / ("maps.pkl" if pickle else "maps"), MapOptions(**how))
        except OutputError as refused:
            # A pickle does not record its source, so a finished one blocks the output; leftovers of a partial one are
            # removed.
            if not pickle or "is there already" not in str(refused):
                raise

    def training(out: Path) -> None:
        from headscope_train.training_run import train

        train(
            text=base / "text.txt",
            out=out / "model",
            packing="single",
            size="1x2x16",
            vocabulary=300,
            batch_size=8,
            learning_rate=5e-3,
            dropout=0.1,
            steps=24,
            every=6,
        )

    def part_options() -> Any:
        from headscope.scans.declarations.run_options import RunOptions

        text = (str(base / "text.txt"),)
        stages = ("stats", "distances", "map")
        return RunOptions(model=model, text=text, packing="single", max_length=32, stages=stages, shard_minutes=0)

    def merge(out: Path) -> None:
        from headscope.reporting.atlas_files import run_report
        from headscope.running.parts import read_parts, write_part
        from headscope.scans.prepare.prepared_run import prepare_model_run
        from headscope.scans.shard_checkpoint import Part

        # The scan of each part can be killed, too.
        folders = [out / "part-1", out / "part-2"]
        for number, folder in enumerate(folders, 1):
            write_part(prepare_model_run(part_options()), folder, Part(number, 2))
        parts = read_parts(folders)
        run_report(parts[0].options, out=out / "report", parts=parts)

    def pages(out: Path) -> None:
        import headscope as hs
        from headscope.reporting.atlas_files import run_report
        from headscope.reporting.export import export

        if not (base / "finished").exists():  # this run is made once, before any kill
            run_report(part_options(), out=base / "finished")
        hs.head_atlas(base / "finished", out=out / "site")
        export(hs.open_study(base / "finished"), out / "paper", form="csv")
        hs.head_view("The cat sat.", model=model, static=True).save(out / "view.html")

    return [
        Task("report", report),
        Task("merge", merge),
        Task("pages", pages),
        Task("extract", maps),
        Task("extract words", lambda out: maps(out, word_level="mean")),
        Task("extract pickle", lambda out: maps(out, pickle=True)),
        Task("train", training),
    ]


def left_behind(out: Path) -> list[str]:
    """Return the temporary files that a killed run left."""
    return sorted(str(path.relative_to(out)) for path in out.rglob("*") if is_own(path))


def answers(out: Path) -> dict[str, Any]:
    """Return the contents of a folder, without times."""
    return {str(path.relative_to(out)): _answer(path) for path in _files(out)}


def _files(out: Path) -> Iterator[Path]:
    return (path for path in sorted(out.rglob("*")) if path.is_file() and not _inside_own(path, out))


def _inside_own(path: Path, out: Path) -> bool:
    return any(is_own(Path(part)) for part in path.relative_to(out).parts)


def _answer(path: Path) -> Any:
    if path.name in ("manifest.json", "training.json"):
        found = read_sealed(path, remedy="")
        assert found is not None
        assert found.whole
        return _without_clock(found.content)
    if path.name == "report.html":
        made = read_sealed(path.with_name("manifest.json"), remedy="")
        assert made is not None
        return path.read_text(encoding="utf-8").replace(made.content["created"], "then")
    if path.name == "training.parquet":
        import pandas as pd

        return pd.read_parquet(path).drop(columns="seconds").to_csv()
    return "timed" if path.name in TIMED else path.read_bytes()


def _without_clock(content: Any) -> Any:
    if isinstance(content, dict):
        return {k: _without_clock(v) for k, v in content.items() if k not in (*CLOCK, *TIMED)}
    return [_without_clock(each) for each in content] if isinstance(content, list) else content
