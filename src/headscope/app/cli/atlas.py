"""`headscope atlas`: turn a finished run into a page with a card for each head."""

from dataclasses import replace
from pathlib import Path

from headscope.app.cli.printing import say
from headscope.app.cli.study_folder import StudyFolder, beside
from headscope.app.options import typed as o
from headscope.app.options.beside_run import OUT_FOLDER

_OUT = replace(
    OUT_FOLDER, help="Folder of the site: new, empty, or that of an earlier atlas; by default DIR-atlas, next to DIR."
)


@o.takes(_OUT)
def command(study: StudyFolder, *, out: Path | None) -> None:
    """Write the atlas of a report: a page with a card per head.

    Heads can be found on a map, by filters or in words.

    One file, index.html, which loads nothing; a head's card is index.html#encoder-8-10, two are compared at
    index.html#encoder-8-10~encoder-3-1.
    """
    from headscope.app.api import head_atlas

    page = head_atlas(study, out=out or beside(study, "atlas"))
    say(f"atlas: {page} ({page.stat().st_size / 1e6:.1f} MB)")
