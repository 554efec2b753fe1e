"""Commands that write files from a report, a model or saved maps: export, atlas, prune and convert."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from headscope.app import typed as o
from headscope.app.beside_run import FORCE, OUT_FOLDER, PRUNE, REMOVAL, RUN
from headscope.app.cli.printing import say
from headscope.errors import InputError, OptionError, OutputError
from headscope.scans.declarations.option import Option
from headscope.storage.places import check_place
from headscope.visible import count

StudyFolder = Annotated[Path, o.argument("DIR", "Folder of a headscope report.", group="corpora")]
_FORM = Option(name="form", flags=("--format",), group="output", help="Tables: csv, latex or xlsx; csv by default.")
_FIGURES = Option(
    name="figures",
    group="other",
    help="Figures: one or two (columns of a page: 3.3 or 6.9 inches) as PDF and SVG, or screen, as PNG, too.",
)
_STYLE = Option(
    name="style", group="other", help="With --figures: widths and fonts of neurips, acl or plain; plain by default."
)
_OUT = replace(OUT_FOLDER, help="Folder of the files; by default DIR-export, next to DIR.")
_SITE = replace(
    OUT_FOLDER, help="Folder of the site: new, empty, or that of an earlier atlas; by default DIR-atlas, next to DIR."
)


@o.takes(_FORM, _FIGURES, _STYLE, _OUT)
def export(study: StudyFolder, *, form: str | None, figures: str | None, style: str | None, out: Path | None) -> None:
    """Write a report's tables and figures for a paper.

    Tables for a paper: heads by role, attention by layer, behaviors, and tables 1 to 3 of Clark et al. 2019, if they
    were measured. CSV and Excel contain every other table of the run, too. With --figures and no --format, only the
    figures are written.
    """
    from headscope.present.study import open_study
    from headscope.reporting.export import export as write_tables

    if style is not None and figures is None:
        raise OptionError("--style is of figures; give --figures one or two with it")
    opened, folder_out = open_study(study), out or _beside(study, "export")
    if figures is not None:
        from headscope.reporting.export import export_figures

        drawn = export_figures(opened, folder_out, columns=figures, style=style)
        said = f"{count(len(drawn), 'file')} in {drawn[0].parent}" if drawn else "the run has nothing to draw"
        say(f"figures: {said}")
        if form is None:
            return
    written = write_tables(opened, folder_out, form=form or "csv")
    for path in written[:3]:
        say(f"table: {path}")
    if len(written) > 3:
        say(f"and {count(len(written) - 3, 'more table')} in {written[0].parent}")


@o.takes(_SITE)
def atlas(study: StudyFolder, *, out: Path | None) -> None:
    """Write the atlas of a report: a page with a card per head.

    Heads can be found on a map, by filters or in words.

    One file, index.html, which loads nothing; a head's card is index.html#encoder-8-10, two are compared at
    index.html#encoder-8-10~encoder-3-1.
    """
    from headscope.app.api import head_atlas

    page = head_atlas(study, out=out or _beside(study, "atlas"))
    say(f"atlas: {page} ({page.stat().st_size / 1e6:.1f} MB)")


def _beside(study: Path, name: str) -> Path:
    """Return the folder `DIR-name` next to the report's folder, even if that was given as `.`."""
    folder = study.resolve()
    return folder.with_name(f"{folder.name}-{name}")


_CHECKPOINT = replace(OUT_FOLDER, kind=Path, required=True, help="Folder of the new checkpoint: new or empty.")
_HEADS, _KEEP, _STUDY, _BY = (replace(each, kind=Path | None if each.kind is Any else each.kind) for each in PRUNE[:4])
_TEXT = replace(
    RUN["text"],
    flags=(),
    holds=(),
    placeholder="FILE",
    help="Text on which the loss is measured before and after; may be repeated.",
)
_SAME = "; shapes and configuration stay the same, so the file does not shrink"


@o.takes(RUN["model"], RUN["revision"], _HEADS, _KEEP, _STUDY, _BY, REMOVAL, _TEXT, _CHECKPOINT, FORCE)
def prune(*, model: str | None, text: list[str] | None, force: bool, **options: Any) -> None:
    """Write a model without some of its heads.

    The result is a checkpoint that plain transformers loads: the rows of the output projection that a removed head
    writes through become zero; shapes and configuration stay. The heads to remove are given by --heads, or by
    --keep with a finished run and one of its measures. With --text the loss before and after is printed, and added
    to the model card.
    """
    from headscope.scans.prepare.given_names import check_names

    check_names(model=model, text=text or ())
    from headscope.app import pruning

    pruned = pruning.prune(model, text=[Path(each) for each in text or ()] or None, replace=force, **options)
    names = ", ".join(str(head) for head in pruned.removed[:12])
    more = f" and {len(pruned.removed) - 12:,} more" if len(pruned.removed) > 12 else ""
    say(
        f"wrote {pruned.path}: without {len(pruned.removed):,} of {count(pruned.heads, 'head')} ({names}{more})" + _SAME
    )
    if pruned.loss is not None:
        say(str(pruned.loss))


if TYPE_CHECKING:
    from headscope.corpora.annotation import AnnotatedDocument

TREEBANKS_IN = (".conllu", ".txt", ".json", ".jsonl")
TREEBANKS_OUT = (".conllu", ".txt", ".json")


@o.takes(RUN["model"], RUN["revision"], FORCE)
def convert(
    source: Annotated[
        Path,
        o.argument(
            "IN",
            "A treebank (.conllu, .txt or .json), a pickle of the original code, or a folder of maps.",
            group="corpora",
        ),
    ],
    out: Annotated[
        Path, o.argument("OUT", "The treebank, the folder of maps, or the pickle, to write.", group="output")
    ],
    *,
    model: str | None,
    revision: str | None,
    force: bool,
) -> None:
    """Convert a treebank or saved maps to another format.

    Treebanks are recognized by their endings: .conllu, .txt (one word and its head-label per line, as the original code
    reads them) and .json (the original's features with words, heads and relns). Any other file is a pickle of the
    original code, which becomes a folder of maps; a folder of maps becomes such a pickle.

    Special tokens of a pickle are those of --model's tokenizer; BERT's [CLS] and [SEP] when it is not given.
    """
    check_place(out, reads=[source, model], replace=force)
    ending = _ending(source)
    if ending in TREEBANKS_IN and not source.is_dir():
        _to_treebank(source, out, replace=force)
    elif out.suffix.lower() in TREEBANKS_OUT:
        raise OptionError(
            f"{out} would be a treebank, but {source} is none by its ending; expected IN to be a file that ends in "
            f"{', '.join(TREEBANKS_IN)}, or in one of these and .gz"
        )
    elif source.is_dir():
        _to_pickle(source, out, replace=force)
    elif source.is_file():
        _to_maps(source, out, model=model, revision=revision, replace=force)
    elif source.exists():
        raise InputError(
            f"{source} is not a file; a pipe can be converted if its name ends in {', '.join(TREEBANKS_IN)}, else "
            "write it to a file, and give that"
        )
    else:
        raise InputError(f"no such file or folder: {source}; give a pickle of the original code, or a folder of maps")


def _to_pickle(folder: Path, out: Path, *, replace: bool) -> None:
    from headscope.maps.pickle_conversion import maps_to_pickle
    from headscope.storage.lock import place_held

    with place_held(out):
        written, left_out = maps_to_pickle(folder, out, replace=replace)
    say(f"wrote {out}: {written:,} entries, float16")
    if left_out:
        say(f"left out {left_out:,}: a word has no row of its own")


def _to_maps(file: Path, out: Path, *, model: str | None, revision: str | None, replace: bool) -> None:
    from headscope.encoding.encoder import Encoder
    from headscope.maps.pickle_conversion import pickle_to_maps
    from headscope.models.load_model import load_tokenizer
    from headscope.storage.lock import place_held

    encoder, name = None, None
    if model is not None:
        tokenizer, name = load_tokenizer(model, revision=revision)
        encoder = Encoder(tokenizer)
    with place_held(out):
        number = pickle_to_maps(file, out, encoder=encoder, name=name, replace=replace)
    say(f"wrote {out}: the maps of {number:,} entries, float16")


def _ending(path: Path) -> str:
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _to_treebank(source: Path, out: Path, *, replace: bool) -> None:
    form = out.suffix.lower()
    if form not in TREEBANKS_OUT:
        raise OptionError(
            f"{source} is a treebank by its ending, but {out} is none; expected OUT to end in "
            f"{', '.join(TREEBANKS_OUT)}"
        )
    if form == _ending(source):
        others = " or ".join(other for other in TREEBANKS_OUT if other != form)
        raise OptionError(f"{source} and {out} both end in {form}; expected OUT to end in {others}")
    if out.is_dir():
        raise OutputError(f"{out} is a folder; expected a place for a file")

    from headscope.corpora.trees.treebank import fit_word, lost_in, read_treebank, treebank_text
    from headscope.storage.lock import placed

    lost: Counter[str] = Counter()
    sentences = words = changed = 0

    def counted() -> Iterator["AnnotatedDocument"]:
        nonlocal sentences, words, changed
        for document in read_treebank(source, left_out=lost):
            sentences += len(document.sentences)
            words += len(document.words)
            changed += sum(fit_word(word, form=form) != word for word in document.words)
            lost.update(lost_in(document, form=form))
            yield document

    with placed(out, replace=replace) as part, part.open("w", encoding="utf-8") as file:
        file.writelines(treebank_text(counted(), form=form))
    say(f"wrote {out}: {count(sentences, 'sentence')}, {count(words, 'word')}")
    for what, number in sorted((+lost).items()):
        say(f"left out {what}: {number:,}")
    if _ending(source) == ".conllu":
        say("left out any lemmas, features, enhanced dependencies, comments and last column")
    if changed:
        say(f"changed {count(changed, 'word')}: white space within a word became _")
