"""What `import headscope as hs` offers to call: a report, its atlas, a scan, and views in a notebook.

Importing this loads nothing heavy: each function imports what it runs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.errors import OptionError

if TYPE_CHECKING:
    from headscope.attention.scan import ScanCounts
    from headscope.prepare.progress import Watcher
    from headscope.study.study import Study


def report(
    model: str | Path | None = None,
    *,
    text: str | Path | list[str | Path] | None = None,
    treebank: str | Path | list[str | Path] | None = None,
    treebank_train: str | Path | list[str | Path] | None = None,
    coref: str | Path | list[str | Path] | None = None,
    out: str | Path | None = None,
    maps: str | Path | None = None,
    watch: Watcher | None = None,
    **options: Any,
) -> Study:
    """Run a model over text and write a report on what each attention head looks at.

    Args:
        model: hub name or folder; None for the embedded model.
        text: file, folder or several; None for the sentences of the treebank and the coreference corpus, and for the
            demonstration text where there are none.
        treebank: file, folder, name such as `ud:en_ewt`, or several: adds dependency heads (section 4.2).
        treebank_train: the same, to train probes on, which are measured on `treebank`: adds section 5.
        coref: file, folder or several: adds coreference heads (section 4.3).
        out: folder of the run; None makes a temporary one (`study.path`).
        maps: folder of saved maps, in place of model and text.
        watch: told of progress.
        **options: `packing`, `max_length`, `limit`, `loss`, `fold_labels`, `controls`, `device`, `seed` and more; see
            `RunOptions`. Without any corpus the demonstration ones are read.

    Returns:
        The study: labelled arrays, tables, and `report_path`.

    Raises:
        HeadscopeError: something in the way that the user can mend; its text says how.
    """
    from headscope.atlas.atlas_files import run_report
    from headscope.prepare.options import RunOptions, as_paths

    if model is not None and not isinstance(model, str | Path):
        raise OptionError(f"model is a {type(model).__name__}; expected a hub name or a folder")
    known = [field.name for field in fields(RunOptions)]
    for name in options:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise OptionError(f"report has no option {name!r}; it has {', '.join(known)}{hint}")
    asked = RunOptions(
        model=None if model is None else str(model),
        text=as_paths(text),
        treebank=as_paths(treebank),
        treebank_train=as_paths(treebank_train),
        coref=as_paths(coref),
        maps=None if maps is None else Path(maps),
        **options,
    )
    folder = Path(tempfile.mkdtemp(prefix="headscope-")) if out is None else Path(out)
    return run_report(asked, out=folder, watch=watch)


def head_atlas(study: Study | str | Path, *, out: str | Path) -> Path:
    """Write the head atlas of a study: a card for each head, found on a map, by filters or in words.

    >>> hs.head_atlas("my-report", out="site")

    Args:
        study: a finished run, or its folder.
        out: folder of the site; `index.html` in it holds everything, and a head's card is `index.html#encoder-8-10`.

    Returns:
        The page's path.

    Raises:
        InputError: the folder holds no run, or one without statistics of heads on text.
        OutputError: `out` is no place for a site.
    """
    from headscope.atlas.atlas_page import write_atlas
    from headscope.study.study import Study, open_study

    opened = study if isinstance(study, Study) else open_study(study)
    return write_atlas(opened, Path(out))


def scan(
    model: Any,
    texts: Any,
    accumulators: Any,
    *,
    tokenizer: Any = None,
    packing: str = "single",
    max_length: int = 128,
    too_long: str = "truncate",
    limit: int | None = None,
    batch_size: int | None = None,
    seed: int = 0,
    revision: str | None = None,
    dtype: str = "float32",
    device: str = "auto",
    progress: Callable[[ScanCounts], None] | None = None,
) -> list[Any]:
    """Run a model over texts once and feed its attention to accumulators.

    Args:
        model: hub name or folder, None for the embedded model, what `load_model` returns, or a transformers model with
            its `tokenizer`.
        texts: a text, or several; or a `Path` (or several) of files and folders; or documents, as `read_corpus` returns
            them; None for the demonstration text. Lines are inputs, and a blank line parts documents; each text of
            several is a document of its own.
        accumulators: updated in place; made without a layout, they are told the model's.
        tokenizer: of a transformers model.
        packing, max_length, too_long, limit, batch_size, seed: how text becomes inputs; see `RunOptions`.
        revision, dtype, device: of the model; see `load_model`.
        progress: called after each batch.

    Returns:
        What each accumulator's `compute()` gives, in their order.

    Raises:
        HeadscopeError: the model, the texts or an option is not as it should be.
    """
    from headscope.app.scanning import scan_texts
    from headscope.prepare.options import RunOptions

    options = RunOptions(
        packing=packing,
        max_length=max_length,
        too_long=too_long,
        limit=limit,
        batch_size=batch_size,
        seed=seed,
    )
    reading = {"tokenizer": tokenizer, "revision": revision, "dtype": dtype, "device": device}
    return scan_texts(model, texts, accumulators, options=options, progress=progress, **reading)


def head_view(model: Any = None, text: str | None = None, text_b: str | None = None, **options: Any) -> Any:
    """Draw attention as lines between tokens, heads in colours.

    Args:
        model: hub name or folder, None for the embedded model, what `load_model` returns, or a transformers model with
            its `tokenizer`.
        text: what the model reads.
        text_b: the second text of a pair.
        **options: of the text: `decoder_text`, `generate` (tokens to write), `max_length`, `too_long`; of the model:
            `tokenizer`, `revision`, `dtype`, `device`; in place of a model and a text: `attention` with `tokens` and
            `sentence_b_start`, or `encoder_attention`, `decoder_attention` and `cross_attention` with `encoder_tokens`
            and `decoder_tokens`; of the view: `include_layers`, `kind`, `layer`, `heads` (labels from 1), `words`,
            `height` in pixels, `state` (what a view copied), `static=True` for the page instead of the widget.

    Returns:
        What a notebook shows; `save(path)` writes the page.

    Raises:
        HeadscopeError: something is not as it should be; the text says what.
    """
    from headscope.app.notebook import view_of

    return view_of("head", model, text, text_b, **options)


def model_view(model: Any = None, text: str | None = None, text_b: str | None = None, **options: Any) -> Any:
    """Draw every layer and head as a small picture; takes what `head_view` takes."""
    from headscope.app.notebook import view_of

    return view_of("model", model, text, text_b, **options)


def neuron_view(model: Any = None, text: str | None = None, text_b: str | None = None, **options: Any) -> Any:
    """Draw how a head's weights come about from queries and keys; takes what `head_view` takes, but needs a model.

    Raises:
        ModelError: the model does not hand over its queries and keys.
    """
    from headscope.app.notebook import view_of

    return view_of("neuron", model, text, text_b, **options)


def heatmap(model: Any = None, text: str | None = None, text_b: str | None = None, **options: Any) -> Any:
    """Draw the text with each token shaded by its attention; takes what `head_view` takes."""
    from headscope.app.notebook import view_of

    return view_of("heatmap", model, text, text_b, **options)


def matrix_view(model: Any = None, text: str | None = None, text_b: str | None = None, **options: Any) -> Any:
    """Draw one head's weights as a matrix of queries by keys; takes what `head_view` takes."""
    from headscope.app.notebook import view_of

    return view_of("matrix", model, text, text_b, **options)
