"""The folder of a run: its default name, which run it holds, and which finished stages are kept."""

import re
from collections.abc import Mapping
from itertools import chain, count
from pathlib import Path
from typing import Any

from headscope.corpora.opening import is_pipe
from headscope.corpora.remote import FORM
from headscope.errors import InputError, OutputError
from headscope.present.manifest import read_manifest
from headscope.scans.declarations.analysis import Stage
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.shard_checkpoint import SHARDS
from headscope.storage.atomic import hash_of_file
from headscope.storage.places import contents, sweep
from headscope.storage.sealed import Sealed, signature_id

FOLDERS = ("tables", "state", "atlas", SHARDS)


def check_run_folder(path: Path) -> Sealed | None:
    """Check that a directory is free for a run or already holds one; return the manifest of that run.

    Raises:
        OutputError: the path is a file, or the directory holds something else.
        InputError: its manifest is not a valid manifest.
    """
    if path.exists() and not path.is_dir():
        raise OutputError(f"{path} is a file; --out expects a folder, new or empty")
    sealed = read_manifest(path)
    if sealed is None and path.is_dir() and any(contents(path)):
        raise OutputError(f"{path} holds other files and no headscope run; give --out a new or empty folder")
    return sealed


def check_out(path: Path, signature: Mapping[str, Any]) -> Sealed | None:
    """Check that a directory, which the caller has locked, may take a run; remove leftovers of stopped runs.

    Returns:
        The manifest of the run of the same model and corpora that it holds; None if it holds none.

    Raises:
        OutputError: it holds a run of another model, of corpora of other names, or something else.
        InputError: its manifest is not a valid manifest.
    """
    sealed = check_run_folder(path)
    if sealed is not None and not _same_study(sealed.content["signature"], signature):
        raise OutputError(_other_run(path, sealed.content["signature"]))
    sweep(path, *(path / name for name in FOLDERS))
    return sealed


def damaged_files(path: Path, stage: Mapping[str, Any]) -> list[str]:
    """Return the files of a stage, given its entry in the manifest, that are missing or changed since written."""
    files = stage.get("files", {})
    lacking = [f"tables/{table}.parquet" for table in stage.get("tables", [])]
    return [file for file in dict.fromkeys([*lacking, *files]) if hash_of_file(path / file) != files.get(file, "")]


def _other_run(path: Path, signature: Mapping[str, Any]) -> str:
    corpora = signature.get("corpus", {})
    names = [corpora.get("name"), *(c.get("name") for c in corpora.values() if isinstance(c, Mapping))]
    what = "; ".join(dict.fromkeys(str(name) for name in [signature.get("model", {}).get("name"), *names] if name))
    return (
        f"{path} already holds a different run ({what}; signature {signature.get('id')}); give another --out, or "
        "delete that folder"
    )


def _same_study(earlier: Mapping[str, Any], signature: Mapping[str, Any]) -> bool:
    """Return True if another run may add to a folder: the same model, and no corpus replaced by one of another name."""

    def model(of: Mapping[str, Any]) -> list[Any]:
        return [of.get("model", {}).get(key) for key in ("weights", "configuration", "family")] + [of.get("tokenizer")]

    def clash(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
        # The same files under other options have another hash (a limit cuts them); other files have other names.
        return all(key in each for key in ("name", "hash") for each in (old, new)) and all(
            old[key] != new[key] for key in ("name", "hash")
        )

    old, new = earlier.get("corpus", {}), signature["corpus"]
    parts = [name for name in new if isinstance(new[name], Mapping) and isinstance(old.get(name), Mapping)]
    clashes = [clash(old, new), *(clash(old[name], new[name]) for name in parts)]
    return model(earlier) == model(signature) and not any(clashes)


_LONGEST = 60  # characters of each part
_ENDING = re.compile(r"(\.(txt|jsonl?|csv|tsv|parquet|conllu?|conllup))?(\.gz)?$", re.IGNORECASE)


def run_name(options: RunOptions, model: str) -> str:
    """Return the folder name of a run: `my-headscope-minilm` for `my.txt` and the embedded model.

    Args:
        options: options of the run; its first file gives the name, followed by the number of further files.
        model: name of the model.
    """
    read = options.text or options.treebank or options.coref or (() if options.maps is None else (str(options.maps),))
    first = _plain(_source(read[0])) if read else "demonstration"
    more = f"-and-{len(read) - 1}-more" if len(read) > 1 else ""
    return f"{first}{more}-{_plain(Path(model).name)}"


def free_folder(name: str, signature: str, *, beside: Path = Path()) -> Path:
    """Return the folder `name`, or `name-2`, `name-3` ...: the first that is free or holds this same run.

    Args:
        name: name from `run_name`.
        signature: id of the run; a stopped run is resumed in its folder.
        beside: parent folder.
    """
    later = (f"{name}-{number}" for number in count(2))
    return next(beside / each for each in chain([name], later) if _is_free(beside / each, signature))


def _is_free(folder: Path, signature: str) -> bool:
    if not folder.exists() and not folder.is_symlink():
        return True
    if not folder.is_dir():
        return False
    try:
        sealed = read_manifest(folder)
    except InputError:
        return False
    if sealed is None:
        return not any(contents(folder))
    return sealed.whole and sealed.content["signature"].get("id") == signature


def _source(name: str) -> str:
    """Return the name of a corpus: its file without folder and ending, or `standard-input` if it has no name."""
    if name == "-" or is_pipe(name):
        return "standard-input"
    path = Path(name)
    if FORM.fullmatch(name) and not path.exists():  # a corpus by name, such as ud:en_ewt/test
        return name
    return _ENDING.sub("", path.resolve().name if path.name in ("", "..") else path.name)


def _plain(name: str) -> str:
    """Keep only the characters of a name that every file system and shell accepts."""
    return re.sub(r"[^\w.]+", "-", name)[:_LONGEST].strip("-.") or "run"


def stage_signature(stage: Stage, signature: Mapping[str, Any], options: Any, *, before: Mapping[str, str]) -> str:
    """Return the id of everything a stage's numbers depend on; if it has changed, the stage is measured again.

    Args:
        stage: the stage.
        signature: signature of the run, for the model, the corpora and, over saved maps, the files.
        options: options of the run.
        before: ids of the stages measured before it in this run.
    """
    corpus = signature["corpus"]
    reads = {name: corpus.get(name, {}).get("hash") for name in options.corpora_of(stage) if name != "text"}
    if "text" in stage.corpora:
        reads["text"] = corpus.get("hash")
    model = {k: v for k, v in signature["model"].items() if k in ("weights", "configuration", "family", "special")}
    kept = {name: signature["options"].get(name) for name in ("maps", "word_level", "shards")}
    listed = {"listed": stage.names()} if stage.listed else {}
    return signature_id(
        {
            "stage": stage.name if stage.version == 1 else f"{stage.name} {stage.version}",
            **listed,
            "model": model,
            "tokenizer": signature["tokenizer"],
            "corpora": {} if options.maps is not None else reads,
            "maps": kept if options.maps is not None else {},
            # The signature has a hash in place of a second model's name.
            "options": {
                n: signature["options"].get(n, getattr(options, n))
                for n in stage.shaping(maps=options.maps is not None)
            },
            "seed": signature["seed"],
            "after": {name: before[name] for name in stage.after if name in before},
        }
    )


def finished_stages(out: Path, written: Mapping[str, Any], ids: Mapping[str, str], words: list[str]) -> frozenset[str]:
    """Return the stages that a resumed run need not measure, because the folder holds the same results.

    Args:
        out: folder of the run.
        written: stages of its manifest, by name.
        ids: id of each stage from `stage_signature`.
        words: list that gets a note for each stage whose files are damaged.
    """
    names = set()
    for name, signature in ids.items():
        stage = written.get(name)
        if stage is None or stage.get("signature") != signature:
            continue
        if damaged := damaged_files(out, stage):
            words.append(f"{', '.join(damaged)} was not as it was written: {name} was measured again")
        else:
            names.add(name)
    return frozenset(names)
