"""The models that the explorer was started with, their names on the page, and the study that they belong to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.app.explorer.request import Refusal
from headscope.errors import HeadscopeError, ModelError, OptionError
from headscope.installing import EMBEDDED
from headscope.visible import titled

if TYPE_CHECKING:
    from headscope.present.study import Study
    from headscope.views.capture import AttentionReader

WAITING, LOADING, READY, FAILED = "waiting", "loading", "ready", "failed"


@dataclass(frozen=True, kw_only=True)
class NamedModel:
    """A model that may be loaded.

    Attributes:
        name: name on the page.
        source: argument of `reader_of`: a hub name, a folder, None for the embedded model, or a loaded one.
        revision: branch, tag or commit on the hub.
        roles: role of each head in the study of this model, `[layer][head]` by kind.
        weights: hash of the weights that the study measured; None without a study of it.
        refused: reason why it cannot be loaded, if known.
    """

    name: str
    source: Any
    revision: str | None = None
    roles: dict[str, tuple[tuple[str | None, ...], ...]] | None = None
    weights: str | None = None
    refused: str = ""


@dataclass(frozen=True, kw_only=True)
class State:
    """The state of a model; `message` is the reason of a failure, or a note for the reader."""

    state: str = WAITING
    message: str = ""
    decoder: bool = False
    writes: bool = False


class Shelf:
    """Loads models in a thread, in the order in which they were named.

    Args:
        named: models to load.
        loading: precision, device and device map, as in `load_model`.
        load: function that makes a reader of a model; `reader_of` when None.
    """

    def __init__(
        self,
        named: Sequence[NamedModel],
        *,
        loading: Mapping[str, Any] | None = None,
        load: Callable[..., AttentionReader] | None = None,
    ) -> None:
        self.named = {each.name: each for each in named}
        self.states = {name: State() for name in self.named}
        self.readers: dict[str, AttentionReader] = {}
        self.options = dict(loading or {})
        self._load = load
        self._thread = threading.Thread(target=self._work, name="headscope-loading", daemon=True)
        self._writers: set[str] = set()

    def start(self) -> None:
        """Start loading."""
        self._thread.start()

    def descriptions(self) -> list[dict[str, Any]]:
        """Return name, state, message and abilities of every model, in order."""
        return [{"name": name, **asdict(state)} for name, state in self.states.items()]

    def ready(self, name: str) -> AttentionReader:
        """Return a loaded model.

        Raises:
            Refusal: 404 for an unknown model, 503 if it is not loaded yet, 409 if it could not be loaded.
        """
        if name not in self.named:
            known = ", ".join(self.named)
            raise Refusal(404, f"no model has this name; the explorer was started with {known}")
        state = self.states[name]
        if state.state == FAILED:
            raise Refusal(409, state.message)
        if state.state != READY:
            raise Refusal(503, f"{name} is still being loaded; ask again in a moment", {"Retry-After": "1"})
        return self.readers[name]

    def writer(self, name: str) -> AttentionReader:
        """Return a model with the head that writes text; it replaces the model without the head.

        This is called in the worker thread, while nobody else uses the model.

        Raises:
            HeadscopeError: the checkpoint has no such head.
        """
        if name not in self._writers:
            self.readers[name] = self._read(self.named[name], writes=True)
            self._writers.add(name)
        return self.readers[name]

    def _work(self) -> None:
        for name, named in self.named.items():
            self.states[name] = State(state=LOADING)
            try:
                self.readers[name] = reader = self._read(named)
                self.states[name] = _state_of(reader, named)
            except HeadscopeError as error:
                self.states[name] = State(state=FAILED, message=str(error))
            except BaseException as error:
                # A panic in a tokenizer's Rust code is not an Exception, and must not end the thread.
                reason = str(error).strip().split("\n", 1)[0] or type(error).__name__
                self.states[name] = State(state=FAILED, message=f"{name} could not be loaded: {reason}")

    def _read(self, named: NamedModel, *, writes: bool = False) -> AttentionReader:
        if named.refused:
            raise ModelError(named.refused)
        # torch and transformers are imported here, in the thread, so that the page is served at once.
        from headscope.views.snapshot_of import reader_of

        load = self._load or reader_of
        return load(named.source, revision=named.revision, writes=writes, **self.options)


def _state_of(reader: AttentionReader, named: NamedModel) -> State:
    anatomy = reader.anatomy
    message = ""
    if named.weights is not None:
        from headscope.models.identity import weights_hash

        if weights_hash(reader.loaded) != named.weights:
            message = f"{named.name} has other weights here than those that the study measured."
    return State(
        state=READY,
        message=message,
        decoder=anatomy.encoder_decoder,
        writes=anatomy.encoder_decoder or all(part.kind == "decoder" for part in anatomy.layout),
    )


def named_models(
    names: Sequence[str] | None = None, *, revision: str | None = None, study: NamedModel | None = None
) -> list[NamedModel]:
    """Return models with their names on the page: full hub names, and the last part of folders.

    Args:
        names: hub names and folders; the embedded model when there are none.
        revision: revision of the model, if only one is named.
        study: model of the study: a named model with the same name gets its roles.

    Raises:
        OptionError: one is named twice, or has no name.
    """
    models: list[NamedModel] = []
    sources: Sequence[str | None] = names or [None]
    for source in sources:
        if source is not None and not source.strip():
            raise OptionError("--model '' names no model; give a hub name or a folder")
        if any(each.source == source for each in models):
            raise OptionError(f"--model {source} is named twice; name each model once")
        name = _free(_called(source), [each.name for each in models])
        roles, weights = (study.roles, study.weights) if study is not None and name == study.name else (None, None)
        models.append(NamedModel(name=name, source=source, revision=revision, roles=roles, weights=weights))
    return models


def _called(source: str | None) -> str:
    if source is None:
        return EMBEDDED
    return titled(Path(source).resolve().name if Path(source).is_dir() else source)


def _free(name: str, taken: Sequence[str]) -> str:
    """Return the name, with a number if two folders have the same name."""
    names = chain([name], (f"{name} ({number})" for number in count(2)))
    return next(each for each in names if each not in taken)


def study_model(study: Study) -> NamedModel:
    """Return the model that a study measured, if its manifest shows where it is.

    Of a folder only the last part is known; loading it fails with the advice to name it.
    """
    model = study.manifest["signature"]["model"]
    name = str(model["name"])
    unknown = {
        "folder": "was a folder, and the study does not say where it lies; name it with --model",
        "memory": "was in memory; save it with save_pretrained, and name its folder with --model",
    }
    reason = unknown.get(str(model.get("origin")))
    return NamedModel(
        name=name,
        source=None if name == EMBEDDED else name,
        revision=model.get("revision"),
        refused="" if reason is None else f"the study's model {name} {reason}",
        roles=roles_of(study),
        weights=model.get("weights"),
    )


def roles_of(study: Study) -> dict[str, tuple[tuple[str | None, ...], ...]]:
    """Return each head's role, `[layer][head]` by kind."""
    named = {(row.kind, row.layer, row.head): str(row.role) for row in study.roles.itertuples()}
    return {
        part["kind"]: tuple(
            tuple(named.get((part["kind"], layer, head)) for head in range(1, part["heads"] + 1))
            for layer in range(1, part["layers"] + 1)
        )
        for part in study.manifest["kinds"]
    }
