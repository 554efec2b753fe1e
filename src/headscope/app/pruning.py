"""`headscope prune` and `hs.prune`: choose the heads, load the checkpoint, and write it without them."""

import math
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from headscope.attention.head_id import HeadId, check_head, named_heads
from headscope.corpora.document import Document
from headscope.corpora.given import given_text
from headscope.corpora.reading import read_corpus
from headscope.encoding.choices import REMOVALS
from headscope.errors import InputError, OptionError, did_you_mean
from headscope.models.anatomy import KindLayout
from headscope.models.load_model import LoadedModel
from headscope.models.task_heads import load_checkpoint
from headscope.present.study import Study, open_study
from headscope.running.pruning import HeadChoice, Pruned, write_pruned
from headscope.scans.declarations.option import choose
from headscope.storage.bounded import UnreadableFileError, read_regular
from headscope.storage.places import check_place
from headscope.visible import count

_MOST_BYTES = 1 << 20  # of a file that lists heads


def prune(
    model: str | Path | LoadedModel | None,
    *,
    out: str | Path,
    revision: str | None = None,
    heads: Path | Iterable[str | HeadId] | None = None,
    keep: float | None = None,
    study: Study | str | Path | None = None,
    by: str | None = None,
    text: Any = None,
    intervention: str = "zero",
    replace: bool = False,
) -> Pruned:
    """Write a model's checkpoint without some of its heads; see `write_pruned`.

    Args:
        model: name or folder, or the result of `load_checkpoint`, whose weights are changed.
        out: the new folder.
        revision: revision on the hub.
        heads: heads to remove: their names, or a file of names.
        keep: share of heads that stays, in place of `heads`.
        study: run of the same model, for `keep`.
        by: column of `study.heads` that orders the heads, for `keep`.
        text: text on which the loss is measured before and after, as in `hs.report`.
        intervention: one of `REMOVALS`; `mean` needs a text.
        replace: whether an existing `out` is replaced.

    Raises:
        HeadscopeError: the options contradict one another, or `write_pruned` or `load_checkpoint` raises it.
    """
    chosen = _chosen(heads, keep, study, by)  # before any weight is loaded
    texts = text if isinstance(text, list | tuple) else [text]
    folder = model.model.name_or_path if isinstance(model, LoadedModel) else model
    check_place(Path(out), reads=[folder, heads, study, *texts], replace=replace)
    choose("--intervention", intervention, REMOVALS)
    documents = _documents(text)
    if intervention == "mean" and not documents:
        raise OptionError("--intervention mean takes the mean over a text; give one with --text")
    loaded = model if isinstance(model, LoadedModel) else load_checkpoint(model, revision=revision)
    return write_pruned(
        loaded, Path(out), heads=chosen, intervention=intervention, documents=documents, replace=replace
    )


def _documents(text: Any) -> list[Document]:
    """Return the documents of a text, whether it is in memory or in files."""
    texts: Any = given_text(text)  # paths of files, or documents, never both
    return list(read_corpus(texts) if texts and isinstance(texts[0], str) else texts)


def _chosen(
    heads: Path | Iterable[str | HeadId] | None, keep: float | None, study: Study | str | Path | None, by: str | None
) -> HeadChoice:
    if (heads is None) == (keep is None):
        raise OptionError(
            "give either --heads with a file of the heads to remove, or --keep with --study and --by, as --keep 0.7"
        )
    if heads is not None:
        if study is not None or by is not None:
            raise OptionError("--study and --by choose heads for --keep; leave them out beside --heads")
        names = read_head_names(heads) if isinstance(heads, Path) else [*map(str, heads)]
        return partial(named_heads, names=names)
    if study is None or by is None:
        raise OptionError(
            "--keep needs an order of the heads; give --study with the folder of a finished run of this model, and "
            "--by with one of its measures, as norms.output_norm"
        )
    assert keep is not None
    opened = study if isinstance(study, Study) else open_study(study)
    return partial(weakest_heads, table=opened.heads, measure=by, keep=keep)


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
