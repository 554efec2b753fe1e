"""`headscope atlas`: a finished run in, a page with a card for each head out."""

from pathlib import Path
from typing import Annotated

import typer

from headscope.app.cli.printing import say


def command(
    study: Annotated[Path, typer.Option("--study", help="Folder of a headscope report.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder of the site: new, empty, or that of an earlier atlas.")
    ],
) -> None:
    """Write the atlas of a report: a page with a card a head.

    Heads are found on a map, by filters or in words.

    One file, index.html, which loads nothing; a head's card is index.html#encoder-8-10, two are compared at
    index.html#encoder-8-10~encoder-3-1.
    """
    from headscope.app.api import head_atlas

    page = head_atlas(study, out=out)
    say(f"atlas: {page} ({page.stat().st_size / 1e6:.1f} MB)")
