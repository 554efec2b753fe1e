"""Parts of a run: each scans its share of the shards into its own folder, and a merge joins all of them."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

from headscope.corpora.opening import read_once
from headscope.errors import InputError, OptionError, OutputError
from headscope.running.stages import check_stages, measurement_of, scan_runner, stage_signatures, watched_stages
from headscope.scans.declarations.option import options_of
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import ModelRun
from headscope.scans.progress import Watcher
from headscope.scans.shard_checkpoint import SHARDS, Part, ShardCheckpoint
from headscope.storage.lock import Held, folder_held
from headscope.storage.places import contents, sweep
from headscope.storage.sealed import read_sealed, write_sealed

PART = "part.json"
_MOST = 100_000
_REMEDY = "run that part again with another --out"
_FILES = ("text", "treebank", "treebank_train", "coref")


@dataclass(frozen=True)
class FinishedPart:
    """A finished part of a run, as read from its folder.

    Attributes:
        folder: its folder.
        part: number of the part and of all parts.
        signature: id of the whole run.
        options: options of the whole run.
    """

    folder: Path
    part: Part
    signature: str
    options: RunOptions


def read_part_number(text: str) -> Part:
    """Parse `--shard`: `2/8` is the second of eight parts.

    Raises:
        OptionError: the text does not have this form.
    """
    number, _, of = text.partition("/")
    if all(each.isdecimal() and len(each) < 7 for each in (number, of)) and 1 <= int(number) <= int(of) <= _MOST:
        return Part(int(number), int(of))
    raise OptionError(f"--shard {text!r} is not a part of a run; expected the number of one and of all, as 2/8")


def check_options(options: RunOptions) -> None:
    """Raise an error for a run that cannot be split into parts.

    Raises:
        OptionError: it reads saved maps, or text that can be read only once.
    """
    if options.maps is not None:
        raise OptionError(
            "--shard is for a model that reads text; saved maps are read at once: leave one of the two out"
        )
    if read_once(options.text):
        raise OptionError("--shard needs text that every part can read; give a file in place of a pipe")


def write_part(
    run: ModelRun, out: Path, part: Part, *, options: RunOptions | None = None, watch: Watcher | None = None
) -> int:
    """Scan a part's shards for every stage that has scans, and keep their sums; return the number of files kept.

    A part that was killed continues with the shards that it has not kept.

    Args:
        run: run from `prepare`.
        out: folder of the part.
        part: number of the part and of all parts.
        options: options as the user gave them, so that the merged run reports the choices made for them; the run's when
            None.
        watch: function that receives the progress.

    Raises:
        OutputError: the folder holds something else, or another run has locked it.
    """
    with folder_held(out) as lock:
        plain = _plain(options or run.options)
        about = {"part": part.number, "of": part.of, "signature": run.signature["id"], "options": plain}
        _check_out(out, about)
        for complete in (False, True):
            if complete:
                _scan(run, lock, part, watch)
            lock.check()
            write_sealed(out / PART, {**about, "complete": complete})
    return len(list((out / SHARDS).glob("*.safetensors")))


def _scan(run: ModelRun, lock: Held, part: Part, watch: Watcher | None) -> None:
    ids = stage_signatures(run)

    def keep(stage: str) -> ShardCheckpoint:
        return ShardCheckpoint(
            lock.folder,
            stage=stage,
            signature=ids[stage],
            versions=run.signature["versions"],
            minutes=0,
            opened=partial(Held.check, lock),
            part=part,
        )

    check_stages(run)
    runner = scan_runner(run, checkpoint=keep)
    for stage, stage_watch in watched_stages(run, watch):
        scans = measurement_of(stage, run, watch=stage_watch).scans()
        runner.run(stage.name, (scan for scan in scans if not scan.local), stage_watch)


def read_parts(folders: Sequence[Path]) -> list[FinishedPart]:
    """Read the parts of a run from their folders; all of them must exist, be finished and belong to one run.

    Raises:
        InputError: a folder has no part, or a part is unfinished, missing or of another run; the message names it.
    """
    finished = [_read(folder) for folder in dict.fromkeys(folders)]
    first = finished[0]
    for each in finished:
        if (each.signature, each.part.of) != (first.signature, first.part.of):
            raise InputError(
                f"{each.folder} is a part of another run than {first.folder}; give the folders of the parts of one"
            )
    there = {each.part.number for each in finished}
    lacking = sorted(set(range(1, first.part.of + 1)) - there)
    if lacking:
        named = ", ".join(f"{number}/{first.part.of}" for number in lacking[:5])
        more = f" and {len(lacking) - 5} more" if len(lacking) > 5 else ""
        raise InputError(f"the run has {first.part.of} parts; lacking: {named}{more}; give their folders too")
    return finished


def check_parts(parts: Sequence[FinishedPart], signature: str) -> None:
    """Raise an error if parts belong to another run.

    Raises:
        InputError: the text, the model or an option has changed.
    """
    for each in parts:
        if each.signature != signature:
            raise InputError(
                f"{each.folder} is a part of the run {each.signature}, and its text, model and options now make "
                f"{signature}: one of them has changed; run the parts again"
            )


def _read(folder: Path) -> FinishedPart:
    sealed = read_sealed(folder / PART, remedy=_REMEDY)
    if sealed is None:
        raise InputError(f"{folder} holds no part of a run; expected a folder that headscope report --shard wrote")
    about = sealed.content
    try:
        part = FinishedPart(folder, Part(about["part"], about["of"]), about["signature"], _options(about["options"]))
    except (KeyError, TypeError, ValueError, AttributeError):
        part = None
    if part is None or not sealed.whole:
        raise InputError(f"{folder / PART} is damaged; {_REMEDY}")
    if about["complete"] is not True:
        raise InputError(
            f"part {part.part.number}/{part.part.of} in {folder} is not finished; run its command again first"
        )
    return part


def _check_out(out: Path, about: dict[str, Any]) -> None:
    sealed = read_sealed(out / PART, remedy=_REMEDY)
    if sealed is None and any(contents(out)):
        raise OutputError(f"{out} holds other files and no part of a run; give --out a new or empty folder")
    same = ("part", "of", "signature")
    if sealed is not None and any(sealed.content.get(name) != about[name] for name in same):
        raise OutputError(
            f"{out} already holds part {sealed.content.get('part')}/{sealed.content.get('of')} of a run (signature "
            f"{sealed.content.get('signature')}); give another --out, or delete that folder"
        )
    sweep(out, out / SHARDS)


def shared_options(options: RunOptions) -> RunOptions:
    """Return options that mean the same to another process: files by their absolute path."""
    return _options(_plain(options))


def _plain(options: RunOptions) -> dict[str, Any]:
    """Return options in a form that JSON can store; files by their absolute path, so that any folder can merge them."""
    plain: dict[str, Any] = {"stages": list(options.stages)}
    for name in options_of(RunOptions):
        value = getattr(options, name)
        if name in _FILES:
            value = [_whole(each) for each in value]
        elif name == "model" and value is not None:
            value = _whole(value)
        elif isinstance(value, Path):
            value = str(value.resolve())
        plain[name] = value
    return plain


def _whole(path: str) -> str:
    return str(Path(path).resolve()) if Path(path).exists() else path


def _options(plain: dict[str, Any]) -> RunOptions:
    """Return the options that `_plain` wrote."""
    kinds = options_of(RunOptions)
    values = {field.name: plain[field.name] for field in fields(RunOptions) if field.name in plain}
    for name, value in values.items():
        if isinstance(value, list):
            values[name] = tuple(value)
        elif isinstance(value, str) and name in kinds and kinds[name].kind == Path | None:
            values[name] = Path(value)
    return RunOptions(**values)
