"""`headscope convert`: saved attention maps from one form to another."""

from pathlib import Path
from typing import Annotated

import typer

from headscope.app.cli import options as o
from headscope.errors import InputError


def command(
    source: Annotated[
        Path, typer.Argument(metavar="IN", help="A pickle of the original code, or a folder of maps.")
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The folder of maps, or the pickle, to write.")],
    model: o.Model = None,
    revision: o.Revision = None,
    force: o.Force = False,
) -> None:
    """Turn a pickle of the original code into a folder of maps, or a folder of maps into such a pickle.

    Special tokens of a pickle are those of --model's tokeniser; BERT's [CLS] and [SEP] when it is not given.
    """
    if source.is_dir():
        _to_pickle(source, out, replace=force)
    elif source.is_file():
        _to_maps(source, out, model=model, revision=revision, replace=force)
    else:
        raise InputError(
            f"no such file or folder: {source}; give a pickle of the original code, or a folder of maps"
        )


def _to_pickle(folder: Path, out: Path, *, replace: bool) -> None:
    from headscope.attention.pickle_maps import maps_to_pickle

    written, left_out = maps_to_pickle(folder, out, replace=replace)
    typer.echo(f"wrote {out}: {written:,} entries, float16")
    if left_out:
        typer.echo(f"left out {left_out:,}: a word has no row of its own")


def _to_maps(file: Path, out: Path, *, model: str | None, revision: str | None, replace: bool) -> None:
    from headscope.attention.models import load_tokeniser
    from headscope.attention.pickle_maps import pickle_to_maps
    from headscope.encoding.encoder import Encoder

    encoder, name = None, None
    if model is not None:
        tokeniser, name = load_tokeniser(model, revision=revision)
        encoder = Encoder(tokeniser)
    number = pickle_to_maps(file, out, encoder=encoder, name=name, replace=replace)
    typer.echo(f"wrote {out}: the maps of {number:,} entries, float16")
