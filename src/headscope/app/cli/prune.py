"""`headscope prune`: write a model's checkpoint without some of its heads."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from headscope.app import typed as o
from headscope.app.beside_run import FORCE, OUT_FOLDER, REMOVAL, RUN
from headscope.app.cli.printing import say
from headscope.declarations.option import Option
from headscope.visible import count

_OUT = replace(OUT_FOLDER, kind=Path, required=True, help="Folder of the new checkpoint: new or empty.")
_HEADS = Option(
    name="heads",
    kind=Path | None,
    group="other",
    placeholder="FILE",
    help="File with the heads to remove, one on each line: 8-10.",
)
_KEEP = Option(
    name="keep",
    kind=float | None,
    group="other",
    placeholder="SHARE",
    help="Keep this share of the heads, those with the largest --by in --study: 0.7.",
)
_STUDY = Option(
    name="study", kind=Path | None, group="corpora", help="Folder of a finished run of the same model, for --keep."
)
_TEXT = Option(
    name="text",
    kind=tuple[str, ...],
    default=(),
    group="corpora",
    placeholder="FILE",
    help="Text on which the loss is measured before and after; may be repeated.",
)
_BY = Option(name="by", group="other", help="With --keep: measure that orders the heads, a column of study.heads.")
_SAME = "; shapes and configuration stay the same, so the file does not shrink"


@o.takes(RUN["model"], RUN["revision"], _HEADS, _KEEP, _STUDY, _BY, REMOVAL, _TEXT, _OUT, FORCE)
def command(*, model: str | None, text: list[str] | None, force: bool, **options: Any) -> None:
    """Write a model without some of its heads.

    The result is a checkpoint that plain transformers loads: the rows of the output projection that a removed head
    writes through become zero; shapes and configuration stay. The heads to remove are given by --heads, or by
    --keep with a finished run and one of its measures. With --text the loss before and after is printed, and added
    to the model card.
    """
    from headscope.prepare.given_names import check_names

    check_names(model=model, text=text or ())
    from headscope.app.pruning import prune

    pruned = prune(model, text=[Path(each) for each in text or ()] or None, replace=force, **options)
    names = ", ".join(str(head) for head in pruned.removed[:12])
    more = f" and {len(pruned.removed) - 12:,} more" if len(pruned.removed) > 12 else ""
    say(
        f"wrote {pruned.path}: without {len(pruned.removed):,} of {count(pruned.heads, 'head')} ({names}{more})" + _SAME
    )
    if pruned.loss is not None:
        say(str(pruned.loss))
