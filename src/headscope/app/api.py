"""The functions of `import headscope as hs`: a report, its atlas, attention, a scan, and views in a notebook.

The functions of analyses' commands are made from their list (`app/analysis_functions.py`). Importing this module loads
nothing heavy, because each function imports its implementation.
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.app.beside_run import ATTENTION, PRUNE, RUN, SCAN, VIEW
from headscope.app.keywords import check_choices, check_model, check_text, checked, offering, positional
from headscope.app.run_arguments import in_python, loaded_model, run_options_of
from headscope.encoding.choices import LOADING
from headscope.errors import OptionError
from headscope.scans.declarations.analysis_list import STAGES

if TYPE_CHECKING:
    from headscope.present.study import Study

_OF_A_RUN = in_python(RUN.values(), STAGES.values())


@offering(*_OF_A_RUN, first=[positional("model", Any)], returns="Study")
def report(model: Any = None, **options: Any) -> Study:
    """Run a model over text and write a report on what each attention head looks at.

    >>> hs.report(text=["The cat sat on the mat.", "It slept."])
    >>> hs.report(model=my_model, tokenizer=my_tokenizer, text="my.txt", out="my-report")

    Without any corpus, the demonstration corpora are read.

    Args:
        model: hub name or folder, None for the embedded model, the result of `load_model`, or a transformers model with
            its `tokenizer`. A model in memory keeps its device and dtype and is left unchanged; its weights identify it
            in a run.
        {options}

    Returns:
        The study, with labeled arrays, tables, and `report_path`.

    Raises:
        HeadscopeError: a problem that the user can fix; the message says how.
    """
    run_options, beside = run_options_of("report", model, options, _OF_A_RUN)
    from headscope.reporting.atlas_files import run_report
    from headscope.storage.lock import TemporaryFolder

    temporary = None if "out" in beside else TemporaryFolder()
    out = beside["out"] if temporary is None else temporary.path
    return run_report(run_options, out=out, watch=beside.get("watch"))


_TEXTS = [positional("text", str, Parameter.empty), positional("text_b", str | None)]


@offering(*ATTENTION, first=_TEXTS, returns="xarray.DataArray")
def attention(text: Any = None, text_b: Any = None, **options: Any) -> Any:
    """Return a model's attention on a text as a labeled array, `[layer, head, query, key]`.

    >>> weights = hs.attention("The cat sat on the mat.", layer=3, head=1, level="word")
    >>> weights.sel(query="cat").squeeze().to_series()
    >>> hs.attention("The cat sat on", model="headscope-decoder", generate=20)

    The weights are those of transformers' own eager attention, after the softmax: each row, over keys, sums to 1. A
    learned sink (GPT-OSS), which is not a token, is the last key, `[sink]`. Layers and heads count from 1, and remain
    dimensions if only one is selected. Tokens (or words) are the coordinates of `query` and `key`; if a token occurs
    twice, `sel` returns both occurrences, and `query_position` and `key_position` (from 0) distinguish them. For text
    that the model writes (`generate`), the weights of each token are those at the time it was written.

    Args:
        text: text that the model reads.
        text_b: second text of a pair.
        {options}

    Returns:
        An `xarray.DataArray` of float32 with `units`, `kind`, `level` and `model` among its `attrs`, and `notes` if
        there is something to know about the text or the model.

    Raises:
        HeadscopeError: an argument is invalid; the message says which and why.
    """
    values = checked("attention", options, ATTENTION, before=["text", "text_b"])
    check_text("text", text, needed=True)
    check_text("text_b", text_b)
    check_choices(values, ATTENTION)
    from headscope.app.on_text import attention_array

    model = values.pop("model", None)
    loaded = loaded_model(model, values, arguments=values)
    return attention_array(model if loaded is None else loaded, text, text_b, **values)


def open_study(path: str | Path) -> Study:
    """Open a run's folder; in a notebook, the study shows the run, its head grid and its findings.

    >>> study = hs.open_study("my-report")

    Raises:
        InputError: the folder has no run, or its manifest has changed since the run wrote it.
    """
    from headscope.present import study
    from headscope.reporting.study_words import STUDY_WORDS

    return study.open_study(path, words=STUDY_WORDS)


def head_atlas(study: Study | str | Path, *, out: str | Path) -> Path:
    """Write the head atlas of a study: a card for each head, which can be found on a map, by filters or in words.

    >>> hs.head_atlas("my-report", out="site")

    Args:
        study: finished run, or its folder.
        out: folder of the site; its `index.html` contains everything, and a head's card is `index.html#encoder-8-10`.

    Returns:
        The path of the page.

    Raises:
        InputError: the folder has no run, or the run has no statistics of heads on text.
        OutputError: `out` cannot be used for a site.
    """
    from headscope.present.study import Study

    if not isinstance(study, Study | str | Path):
        raise OptionError(f"study is a {type(study).__name__}; expected a study, or the folder of a finished run")
    opened = study if isinstance(study, Study) else open_study(study)
    from headscope.reporting.atlas_page import write_atlas

    return write_atlas(opened, Path(out))


@offering(RUN["revision"], *PRUNE, first=[positional("model", Any)], returns="Pruned")
def prune(model: Any = None, **options: Any) -> Any:
    """Write a model's checkpoint without some of its heads; plain transformers loads it.

    >>> hs.prune("headscope-decoder", heads=["3-7", "3-8"], out="smaller")
    >>> hs.prune("headscope-decoder", keep=0.7, study=study, by="norms.output_norm", out="smaller")

    The rows of the output projection that belong to a removed head become zero (a mask of 0, Michel et al. 2019);
    shapes, configuration and the projection's bias stay.

    Args:
        model: hub name or folder, or None for the embedded model.
        {options}

    Returns:
        `path`, `removed` (the removed heads) and `heads` (the number of heads of the model).

    Raises:
        HeadscopeError: a problem that the user can fix; the message says how.
    """
    from headscope.app.pruning import prune as write

    values = checked("prune", options, (RUN["revision"], *PRUNE), before=["model"])
    if "out" not in values:
        raise OptionError("prune needs out, the folder of the new checkpoint")
    if isinstance(values.get("heads"), str):
        raise OptionError('heads is a text; expected a list of heads, as ["3-7", "3-8"], or the Path of a file')
    return write(model, **values)


_SCANNED = [positional(name, Any, Parameter.empty) for name in ("text", "accumulators")]


@offering(*SCAN, first=_SCANNED, returns="list[Any]")
def scan(text: Any, accumulators: Any, **options: Any) -> list[Any]:
    """Run a model over text once and feed its attention to accumulators.

    Args:
        text: one text or several; a `Path` (or several) of files and folders; documents from `read_corpus`; or None for
            the demonstration text. Each line is an input, and blank lines separate documents; each of several texts is
            a separate document.
        accumulators: accumulators, updated in place; those made without a layout get the model's.
        {options}

    Returns:
        The result of each accumulator's `compute()`, in the same order.

    Raises:
        HeadscopeError: the model, the text or an option is invalid.
    """
    from headscope.app.on_text import scan_text
    from headscope.scans.declarations.run_options import RunOptions

    values = checked("scan", options, SCAN, before=["text", "accumulators"])
    model, progress = values.pop("model", None), values.pop("progress", None)
    reading = {name: values.pop(name) for name in ("tokenizer", *LOADING) if name in values}
    how = RunOptions(**{"packing": "single", **values})
    return scan_text(text, accumulators, model=model, options=how, progress=progress, **reading)


_VIEWED = [positional("text", str | None), positional("text_b", str | None)]


def _view(name: str, called: str, text: Any, text_b: Any, options: Mapping[str, Any]) -> Any:
    """Check the arguments of a view, and draw it."""
    from headscope.app.on_text import view_of

    values = checked(called, options, VIEW, before=["text", "text_b"])
    model = values.pop("model", None)
    check_model(model)
    check_text("text", text)
    check_text("text_b", text_b)
    return view_of(name, text, text_b, model=model, **values)


@offering(*VIEW, first=_VIEWED)
def head_view(text: Any = None, text_b: Any = None, **options: Any) -> Any:
    """Draw attention as lines between tokens, with heads in colors.

    >>> hs.head_view("The cat sat on the mat.", layer=2)
    >>> hs.head_view("The cat sat on", model="headscope-decoder", generate=20)

    Args:
        text: text that the model reads.
        text_b: second text of a pair.
        {options}

    Returns:
        An object that a notebook displays; `save(path)` writes the page.

    Raises:
        HeadscopeError: an argument is invalid; the message says which and why.
    """
    return _view("head", "head_view", text, text_b, options)


@offering(*VIEW, first=_VIEWED)
def model_view(text: Any = None, text_b: Any = None, **options: Any) -> Any:
    """Draw every layer and head as a small picture; the arguments are those of `head_view`."""
    return _view("model", "model_view", text, text_b, options)


@offering(*VIEW, first=_VIEWED)
def neuron_view(text: Any = None, text_b: Any = None, **options: Any) -> Any:
    """Draw how queries and keys give a head's weights; the arguments are those of `head_view`, but a model is required.

    Raises:
        ModelError: the queries and keys of the model cannot be read.
    """
    return _view("neuron", "neuron_view", text, text_b, options)


@offering(*VIEW, first=_VIEWED)
def heatmap(text: Any = None, text_b: Any = None, **options: Any) -> Any:
    """Draw the text with each token shaded by its attention; the arguments are those of `head_view`."""
    return _view("heatmap", "heatmap", text, text_b, options)


@offering(*VIEW, first=_VIEWED)
def matrix_view(text: Any = None, text_b: Any = None, **options: Any) -> Any:
    """Draw one head's weights as a matrix of queries by keys; the arguments are those of `head_view`."""
    return _view("matrix", "matrix_view", text, text_b, options)
