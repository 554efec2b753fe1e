"""Resuming a run: finished stages are kept, unless something that their numbers depend on has changed.

Within a stage, shards of a scan that were kept are not scanned again (`scans.shard_checkpoint`).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headscope.declarations.analysis import Stage
from headscope.running.run_folder import damaged_files
from headscope.storage.sealed import signature_id


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
            "options": {n: getattr(options, n) for n in stage.shaping(maps=options.maps is not None)},
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
