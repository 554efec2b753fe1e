"""`headscope prune` and `hs.prune`: choose the heads, load the checkpoint, and write it without them."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from headscope.attention.head_id import HeadId
from headscope.corpora.document import Document
from headscope.corpora.given import given_text
from headscope.corpora.reading import read_corpus
from headscope.declarations.option import choose
from headscope.encoding.choices import REMOVALS
from headscope.errors import OptionError
from headscope.models.loading.load_model import LoadedModel
from headscope.models.loading.task_heads import load_checkpoint
from headscope.running.pruning import HeadChoice, Pruned, named_heads, read_head_names, weakest_heads, write_pruned
from headscope.storage.places import check_place
from headscope.study.study import Study, open_study


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
