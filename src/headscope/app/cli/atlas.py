"""`headscope atlas`: a finished run in, a page with a card for each head out."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from headscope.app.cli.printing import say
from headscope.app.options import typed as o
from headscope.app.options.beside_run import OUT_FOLDER

_OUT = replace(
    OUT_FOLDER,
    help="Folder of the site: new, empty, or that of an earlier atlas; by default DIR-atlas, beside DIR.",
)


@o.takes(_OUT)
def command(
    study: Annotated[Path, o.argument("DIR", "Folder of a headscope report.", group="corpora")],
    *,
    out: Path | None,
) -> None:
    """Write the atlas of a report: a page with a card a head.

    Heads are found on a map, by filters or in words.

    One file, index.html, which loads nothing; a head's card is index.html#encoder-8-10, two are compared at
    index.html#encoder-8-10~encoder-3-1.
    """
    from headscope.app.api import head_atlas

    folder = study.resolve()
    page = head_atlas(study, out=out or folder.with_name(f"{folder.name}-atlas"))
    say(f"atlas: {page} ({page.stat().st_size / 1e6:.1f} MB)")
