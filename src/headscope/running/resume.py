"""What a stage's numbers depend on: it is measured again where that has changed."""

from collections.abc import Mapping
from typing import Any

from headscope.declarations.analysis import Stage
from headscope.storage.signature_id import signature_id


def stage_signature(
    stage: Stage, signature: Mapping[str, Any], options: Any, *, before: Mapping[str, str]
) -> str:
    """Return the id of what a stage's numbers depend on: a stage is measured again where it has changed.

    Args:
        stage: the stage.
        signature: of the run, for the model, the corpora and, over saved maps, the files.
        options: of the run.
        before: ids of the stages measured before it in this run.
    """
    corpus = signature["corpus"]
    reads = {name: corpus.get(name, {}).get("hash") for name in options.corpora_of(stage) if name != "text"}
    if "text" in stage.corpora:
        reads["text"] = corpus.get("hash")
    model = {k: v for k, v in signature["model"].items() if k in ("weights", "family", "special")}
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
