"""The interface of a prepared run, for analyses: a model over corpora, or saved maps."""

from dataclasses import replace
from typing import Protocol, runtime_checkable

from headscope.declarations.run_options import RunOptions
from headscope.models.anatomy import KindLayout
from headscope.models.loading.in_memory import dtype_of
from headscope.prepare.input_sizes import SINGLE_LINES, controls_of, with_packing
from headscope.prepare.maps_run import MapsRun
from headscope.prepare.model_run import ModelRun
from headscope.prepare.reading_model import open_model
from headscope.prepare.run_corpora import open_corpora
from headscope.scans.progress import Watcher, note_early, tell
from headscope.scans.scan_declaration import ReadableRun


@runtime_checkable
class Stream(ReadableRun, Protocol):
    """The parts of a run that a scan of its text needs."""

    @property
    def layout(self) -> tuple[KindLayout, ...]:
        """The kinds of attention."""


Run = ModelRun | MapsRun
"""A run that can be measured: a model over corpora, or saved maps."""


def prepare(options: RunOptions, *, watch: Watcher | None = None) -> Run:
    """Load the model and the corpora and compute the run's signature, without a scan.

    Args:
        options: options of the run.
        watch: function that receives the name of each thing that is read and loaded.

    Raises:
        HeadscopeError: the model, a corpus or an option is invalid.
    """
    if options.maps is not None:
        tell(watch, "reading the maps")
        return MapsRun(options)
    return prepare_model_run(options, watch=watch)


def prepare_model_run(
    options: RunOptions, *, watch: Watcher | None = None, text_read: tuple[int, str] | None = None
) -> ModelRun:
    """Open the corpora, load the model and build the run; see `prepare`.

    Args:
        options: options of the run.
        watch: function that receives the name of each thing that is read and loaded.
        text_read: number of documents and hash of the text, if it was read before and is not read here.
    """
    tell(watch, "reading the corpus")
    # Corpora are opened first, so that a broken file is found before a large model is loaded.
    corpora = open_corpora(options, text_read=text_read)
    if options.loaded_model is None:
        tell(watch, "loading the model")
    model = open_model(options)
    # The choices that the options leave to the model are known now; the signature names the result.
    controls = controls_of(model.loaded.model) if options.controls is None else options.controls
    text = corpora.text
    packed = with_packing(options, model.anatomy, only_single_lines=text.of_one_line > 0 == text.of_several_lines)
    single_chosen = SINGLE_LINES if packed.packing == "single" != options.packing else None
    chosen = tuple(filter(None, [corpora.lines_chosen, single_chosen]))
    documents = "lines" if corpora.lines_chosen else options.documents
    options = replace(packed, documents=documents, dtype=dtype_of(model.loaded), controls=controls)
    run = ModelRun(options, corpora=corpora, model=model, chosen=chosen)
    run.inputs.check(corpora.documents)
    for note in run.early_notes():
        note_early(watch, note)
    return run
