"""A checkpoint without some of its heads, which plain transformers loads."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from headscope.attention.head_id import HeadId
from headscope.attention.model.examination import examine
from headscope.attention.model.projections import find_projections
from headscope.attention.model.removed_heads import check_head, projection_means, remove_heads
from headscope.corpora.document import Document
from headscope.counted import count
from headscope.encoding.encoder import Encoder
from headscope.errors import InputError, OptionError, did_you_mean
from headscope.models.anatomy import KindLayout
from headscope.models.loading.in_memory import without_head
from headscope.models.loading.load_model import LoadedModel
from headscope.models.loading.whole_checkpoint import save_folder
from headscope.running.pruning_text import LossChange, PruningText
from headscope.storage.bounded import UnreadableFileError, read_regular
from headscope.storage.lock import placed
from headscope.storage.places import MARK, mark_content
from headscope.version import __version__
from headscope.visible import capital

_MOST_BYTES = 1 << 20  # of a file that lists heads


@dataclass(frozen=True, kw_only=True)
class Pruned:
    """A pruned checkpoint on disk.

    Attributes:
        path: its folder.
        removed: heads whose output is removed, in order.
        heads: number of heads of the model.
        loss: loss before and after, if a text was given.
    """

    path: Path
    removed: tuple[HeadId, ...]
    heads: int
    loss: LossChange | None = None


def write_pruned(
    loaded: LoadedModel,
    out: Path,
    *,
    heads: "HeadChoice",
    intervention: str = "zero",
    documents: Sequence[Document] = (),
    replace: bool = False,
) -> Pruned:
    """Write a model's checkpoint with the rows of the output projection of some heads set to zero.

    Shapes and configuration stay, so that every program that reads the model reads the new one. With the intervention
    `mean`, the heads' mean output goes into the projection's bias: it is fitted on half of the documents, and the loss
    is measured on the others.

    Args:
        loaded: whole model from `load_checkpoint`; its weights are changed.
        out: the new folder.
        heads: function that chooses the heads to remove from the model's heads.
        intervention: one of `encoding.choices.REMOVALS`.
        documents: text on which the loss is measured; needed for means.
        replace: whether an existing `out` is replaced.

    Raises:
        OptionError: a head does not exist, or none is left to remove.
        ModelError: a layer's output projection cannot be changed, or the model does not predict tokens.
        InputError: the text has nothing to predict.
        OutputError: `out` exists.
    """
    bare, encoder = without_head(loaded).model, Encoder(loaded.tokenizer)
    anatomy = examine(bare, encoder.vocabulary)
    removed = heads(anatomy.layout)
    fits = intervention == "mean"
    text = PruningText(loaded, anatomy, encoder, documents, fitting=fits) if documents else None
    with placed(out, replace=replace) as part:
        projections = find_projections(bare, anatomy, encoder.vocabulary)
        means, before = None, None if text is None else text.losses()
        if text is not None and fits:
            means = projection_means(bare, anatomy, encoder.vocabulary, projections, text.fitting)
        remove_heads(projections, anatomy.layout, removed, means=means)
        loss = None if text is None or before is None else text.change(before, text.losses())
        # Weights that the checkpoint lacks (a pooler) are random here, and are left out of the new one, too.
        weights = {k: v for k, v in loaded.model.state_dict().items() if k not in loaded.untrained}
        save_folder(part, loaded.model, loaded.tokenizer, weights=weights)
        number = sum(each.layers * each.heads for each in anatomy.layout)
        pruned = Pruned(path=out, removed=removed, heads=number, loss=loss)
        facts = mark_content(command="prune", removed=[str(head) for head in removed])
        (part / MARK).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
        (part / "README.md").write_text(_model_card(loaded, pruned, means=fits), encoding="utf-8")
    return pruned


HeadChoice = Callable[[Sequence[KindLayout]], tuple[HeadId, ...]]
"""A function that chooses heads of a model, in order."""


def named_heads(layout: Sequence[KindLayout], *, names: Sequence[str]) -> tuple[HeadId, ...]:
    """Return the named heads of a model, in order.

    Args:
        layout: heads of the model.
        names: names such as `8-10` and `cross 8-10`; a bare name is of the model's first kind.

    Raises:
        OptionError: a head does not exist, or no name is given.
    """
    try:
        heads = {HeadId.parse(name, kind=layout[0].kind) for name in names}
    except ValueError as error:
        raise OptionError(str(error)) from None
    for head in heads:
        check_head(head, layout)
    if not heads:
        raise OptionError("no head to remove was named; expected one or more, as 8-10")
    return tuple(sorted(heads))


def weakest_heads(
    layout: Sequence[KindLayout], *, table: pd.DataFrame, measure: str, keep: float
) -> tuple[HeadId, ...]:
    """Return the heads of a model with the smallest values of a measure, in order.

    Args:
        layout: heads of the model.
        table: `study.heads` of the same model.
        measure: name of its column.
        keep: share of heads that stay, above 0 and below 1.

    Raises:
        OptionError: the measure does not exist or is missing for some heads, or the share keeps all or none of them.
        InputError: the run is of a model with other heads.
    """
    measures = [name for name in table.select_dtypes("number").columns if name not in ("layer", "head")]
    if measure not in measures:
        raise OptionError(
            f"the run has no measure {measure!r}; choose one of {', '.join(measures)}{did_you_mean(measure, measures)}"
        )
    heads = [HeadId(*row) for row in table[["kind", "layer", "head"]].itertuples(index=False)]
    number = sum(part.layers * part.heads for part in layout)
    if len(heads) != number:
        raise InputError(
            f"the run measured {count(len(heads), 'head')} and the model has {number:,}; expected a run of this model"
        )
    for head in heads:
        check_head(head, layout)
    kept = math.ceil(keep * number)
    if not 0 < kept < number:
        raise OptionError(
            f"--keep {keep:g} keeps {kept:,} of {count(number, 'head')}; expected a share above 0 that leaves "
            "some of them out"
        )
    values = table[measure].reset_index(drop=True)
    unknown = [head for head, missing in zip(heads, values.isna(), strict=True) if missing]
    if unknown:
        raise OptionError(
            f"the run has no {measure} of {count(len(unknown), 'head')}, as of {unknown[0]}; choose a "
            "measure that it has of all heads, or name the heads to remove with --heads"
        )
    # Ties are broken by the order of layers.
    order = values.sort_values(kind="stable")
    return tuple(sorted(heads[position] for position in order.index[: number - kept]))


def read_head_names(path: Path) -> list[str]:
    """Read heads from a file: one per line, or several separated by commas; text after `#` is ignored.

    Raises:
        InputError: the file does not exist, or is not a text file.
    """
    try:
        text = read_regular(path, most=_MOST_BYTES).decode("utf-8")
    except FileNotFoundError:
        raise InputError(f"no such file: {path}; give a text with a head a line, as 8-10") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text; expected a head a line, as 8-10") from None
    except UnreadableFileError as error:
        raise InputError(f"{path} {error.problem}; expected a text with a head a line, as 8-10") from None
    parts = [part.strip() for line in text.splitlines() for part in line.partition("#")[0].split(",")]
    return [part for part in parts if part]


def _model_card(loaded: LoadedModel, pruned: Pruned, *, means: bool) -> str:
    names = ", ".join(str(head) for head in pruned.removed)
    kept = "What they wrote on average is in the projection's bias. " if means else ""
    loss = "" if pruned.loss is None else f"\n{capital(str(pruned.loss))}.\n"
    return (
        f"# {loaded.name} without {count(len(pruned.removed), 'head')}\n\n"
        f"{count(len(pruned.removed), 'attention head')} of {pruned.heads:,} of {loaded.name} write nothing: their "
        f"rows of the output projection are zero (headscope {__version__}). {kept}All else is as it was.\n\n"
        f"Removed: {names}.\n{loss}"
    )
