"""The stages of a run, one line each: where the code is, what it reads, and which options shape its numbers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from headscope.study.signature_id import signature_id

_TEXT = ("packing", "too_long")
_PROBES = ("seeds", "vectors_hash", "fold_labels", "pieces", "compat")


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One stage.

    Attributes:
        name: as in the manifest.
        function: `module:function`, imported when the stage is measured.
        corpora: what it reads, by the name in the signature; `text` for the text itself.
        options: those that shape its numbers, beyond those that shape all.
        after: stages whose tables it reads, where they are measured.
        version: raised with the tables that it makes; a finished stage of another version is measured again.
    """

    name: str
    function: str
    corpora: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    version: int = 1

    @property
    def measure(self) -> Callable[..., Any]:
        """The function: takes the run, the results of earlier stages where it reads any, and a watcher."""
        module, _, name = self.function.partition(":")
        found: Callable[..., Any] = getattr(import_module(f"headscope.study.{module}"), name)
        return found


_STAGES = (
    # 2: the table `clearest`. 3, and 2 of the others: intervals and tests that keep their level, tables of differences.
    Stage(name="surface", function="surface:measure_surface", corpora=("text",), options=_TEXT, version=3),
    # 2, too: `dependency_noop` is of the words that attend.
    Stage(
        name="syntax",
        function="syntax:measure_syntax",
        corpora=("treebank",),
        options=(
            *("fold_labels", "pieces", "special_tokens", "both_directions", "compat", "controls", "shuffled"),
        ),
        version=2,
    ),
    Stage(
        name="coreference",
        function="coreference:measure_coreference",
        version=2,
        corpora=("coreference",),
        options=("pieces", "controls", "windows", "singletons", "strict"),
    ),
    Stage(name="gap", function="gap:measure_gap", corpora=("gap",), options=("pieces",), version=2),
    # 2, too: the table `importance_differences`.
    Stage(
        name="importance",
        function="importance:measure_importance",
        corpora=("text",),
        options=(*_TEXT, "loss"),
        version=2,
    ),
    Stage(
        name="distances", function="distances:measure_distances", corpora=("text",), options=_TEXT, version=2
    ),
    Stage(
        name="map",
        function="head_map:measure_head_map",
        version=2,
        after=("distances", "surface", "syntax", "coreference"),
    ),
    # 2: trained until their loss has stopped falling.
    Stage(
        name="probes",
        function="probes:measure_probes",
        version=2,
        corpora=("treebank", "treebank_train"),
        options=_PROBES,
    ),
)
STAGES: Mapping[str, Stage] = {stage.name: stage for stage in _STAGES}

# Shape every stage over a corpus; over saved maps only the last does, as the maps say the rest.
_ALL = ("max_length", "token_types", "dtype", "limit")


def stage_options(stage: Stage, *, maps: bool) -> tuple[str, ...]:
    """Return the names of the options that shape a stage's numbers."""
    if stage.after:
        return ()
    if maps:
        # No text was packed, and no other model is measured beside saved maps.
        return ("limit", *(name for name in stage.options if name not in (*_TEXT, "controls", "shuffled")))
    return (*_ALL, *stage.options)


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
    reads = {name: corpus.get(name, {}).get("hash") for name in stage.corpora if name != "text"}
    if "text" in stage.corpora:
        reads["text"] = corpus.get("hash")
    model = {k: v for k, v in signature["model"].items() if k in ("weights", "family", "special")}
    kept = {name: signature["options"].get(name) for name in ("maps", "word_level", "shards")}
    return signature_id(
        {
            "stage": stage.name if stage.version == 1 else f"{stage.name} {stage.version}",
            "model": model,
            "tokeniser": signature["tokeniser"],
            "corpora": {} if options.maps is not None else reads,
            "maps": kept if options.maps is not None else {},
            "options": {n: getattr(options, n) for n in stage_options(stage, maps=options.maps is not None)},
            "seed": signature["seed"],
            "after": {name: before[name] for name in stage.after if name in before},
        }
    )
