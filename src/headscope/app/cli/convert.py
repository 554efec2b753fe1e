"""`headscope convert`: convert treebanks and saved attention maps to another format."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from headscope.app import typed as o
from headscope.app.beside_run import FORCE, RUN
from headscope.app.cli.printing import say
from headscope.errors import InputError, OptionError, OutputError
from headscope.storage.places import check_place
from headscope.visible import count

if TYPE_CHECKING:
    from headscope.corpora.annotation import AnnotatedDocument

TREEBANKS_IN = (".conllu", ".txt", ".json", ".jsonl")
TREEBANKS_OUT = (".conllu", ".txt", ".json")


@o.takes(RUN["model"], RUN["revision"], FORCE)
def command(
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
    from headscope.models.loading.load_model import load_tokenizer
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
