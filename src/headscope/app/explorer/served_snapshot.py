"""A look: a model run once on a text, with encoded weights for the page, and a cache of recent looks."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cachetools import LRUCache

from headscope.app.explorer.request import Limits, LookRequest, Refusal
from headscope.attention.head_id import HeadId
from headscope.errors import HeadscopeError
from headscope.scans.declarations.analysis_list import ANALYSES

if TYPE_CHECKING:
    from headscope.app.explorer.model_shelf import NamedModel, Shelf
    from headscope.views.attention_snapshot import AttentionSnapshot
    from headscope.views.capture import AttentionReader


def cache_of(most: int) -> LRUCache[str, Any]:
    """Return an empty cache of looks by id with a maximum number of bytes; the newest one is kept in any case."""
    # A look larger than the cache counts as the whole cache.
    return LRUCache(most, getsizeof=lambda look: min(look.size, most))


@dataclass(frozen=True, kw_only=True, eq=False)
class Look:
    """The cached result of a look.

    Attributes:
        request: request, to run it again.
        payload_json: payload without maps, as JSON, with the look's `id`.
        layers: maps of each layer, by kind and layer's label, as written by `views.quantize.write_weights`.
    """

    request: LookRequest
    payload_json: bytes
    layers: dict[str, dict[int, bytes]]

    @property
    def size(self) -> int:
        """Size in bytes."""
        return len(self.payload_json) + sum(len(layer) for kind in self.layers.values() for layer in kind.values())


@dataclass(frozen=True, kw_only=True, eq=False)
class Neuron:
    """Queries and keys of a look.

    Attributes:
        layers: for each kind and layer's label: the layout of the bytes, as JSON, and the bytes, as written by
            `views.view_payload.neuron_bytes`.
        refused: reason why a kind has none, by kind.
    """

    layers: dict[str, dict[int, tuple[str, bytes]]]
    refused: dict[str, str]

    @property
    def size(self) -> int:
        """Size in bytes."""
        return sum(len(body) for kind in self.layers.values() for _, body in kind.values())


def take_look(shelf: Shelf, request: LookRequest, *, limits: Limits) -> Look:
    """Run a model on a text.

    Raises:
        Refusal: 422 if the text does not suit the model, 413 if it is too long for the explorer.
    """
    from headscope.views.markup import json_text
    from headscope.views.state import figure_call
    from headscope.views.view_payload import layers_of, payload

    named = shelf.named[request.model]
    view = _with_roles(_view(shelf, request, limits=limits), named)
    layers = layers_of(view)
    data = payload(view, maps=False, neuron=False, layers=layers)
    data["id"] = request.id
    source = named.source if named.source is None or isinstance(named.source, str) else named.name
    options = {"decoder_text": request.decoder_text, "generate": request.generate, "revision": named.revision}
    data["call"] = figure_call(request.text, request.text_b, model=source, **options)
    return Look(
        request=request,
        payload_json=json_text(data).encode("utf-8"),
        layers={kind.kind: dict(zip(kind.layers, each)) for kind, each in zip(view.kinds, layers.maps)},
    )


def take_neuron(shelf: Shelf, request: LookRequest, *, limits: Limits) -> Neuron:
    """Run a model on a text once more, and keep the queries and keys of all its layers.

    Raises:
        Refusal: as in `take_look`.
    """
    from headscope.views.view_payload import neuron_bytes, neuron_parts

    view = _view(shelf, request, limits=limits, neuron=True)
    layers: dict[str, dict[int, tuple[str, bytes]]] = {}
    refused = {}
    for kind in view.kinds:
        if not kind.neuron:
            refused[kind.kind] = kind.no_neuron or "This kind of attention has no queries and keys to show."
            continue
        try:
            layers[kind.kind] = {
                label: (json.dumps({**neuron_parts(layer), "width": layer.queries.shape[2]}), neuron_bytes(layer))
                for label, layer in zip(kind.layers, kind.neuron)
            }
        except HeadscopeError as error:
            refused[kind.kind] = f"Not shown: {error}."
    return Neuron(layers=layers, refused=refused)


def take_score(shelf: Shelf, request: LookRequest, *, head: HeadId, query: int, key: int) -> dict[str, Any]:
    """Decompose a single score of a text into the parts of its sources.

    Raises:
        Refusal: 422 if the sources of the model's scores are not known, or the query does not see the key.
    """
    from headscope.app.one_text import read_by

    if request.decoder_text is not None:
        raise Refusal(422, "a score is decomposed only if the decoder reads the same text; leave the other text out")
    reader = shelf.writer(request.model) if request.generate else shelf.ready(request.model)
    decomposing = next(analysis for analysis in ANALYSES if analysis.score)
    try:
        text = read_by(reader, request.text, request.text_b, generate=request.generate)
        found: dict[str, Any] = decomposing.load(decomposing.score)(text, head=head, query=query, key=key)
    except HeadscopeError as error:
        raise Refusal(422, str(error)) from error
    return found


def _view(shelf: Shelf, request: LookRequest, *, limits: Limits, neuron: bool = False) -> AttentionSnapshot:
    reader = shelf.ready(request.model)
    try:
        check(reader, request, limits=limits)
        if request.generate:
            reader = shelf.writer(request.model)
        return reader.view(
            request.text, request.text_b, neuron=neuron, decoder_text=request.decoder_text, generate=request.generate
        )
    except HeadscopeError as error:
        raise Refusal(422, str(error)) from error
    except (RuntimeError, MemoryError) as error:
        # torch raises this when memory runs out, on the host or the device.
        if "memory" not in str(error).lower() and not isinstance(error, MemoryError):
            raise
        raise Refusal(413, f"this text takes more memory than there is; shorten it ({request.model})") from error


def check(reader: AttentionReader, request: LookRequest, *, limits: Limits) -> None:
    """Check a text's length before the model reads it.

    Raises:
        Refusal: 413 if there are too many tokens or weights, 422 if this kind of model does not support the request.
        HeadscopeError: a text has no tokens.
    """
    from headscope.models.load_model import longest_input
    from headscope.views.text_input import text_input

    anatomy, name = reader.anatomy, request.model
    decoder = anatomy.encoder_decoder
    if request.decoder_text is not None and not decoder:
        raise Refusal(422, f"{name} has no decoder behind an encoder; leave the decoder's text out")
    if request.generate and not decoder and any(part.kind != "decoder" for part in anatomy.layout):
        raise Refusal(422, f"{name} reads a text in both directions and cannot write one; ask for 0 tokens")
    endless = 1 << 40
    source = len(text_input(reader.encoder, request.text, request.text_b, most=endless).segment)
    target = source
    if request.decoder_text is not None:
        target = len(text_input(reader.target_encoder, request.decoder_text, most=endless).segment)
    elif decoder and request.generate:
        target = 1
    target += request.generate
    if not decoder:
        source = target
    longest = longest_input(reader.loaded, anatomy)
    most = min(longest, limits.tokens)
    tokens = max(source, target)
    if tokens > most:
        written = f", the {request.generate} to be written included," if request.generate else ""
        who = f"{name} can read" if most == longest else "the explorer takes"
        raise Refusal(413, f"the text is {tokens:,} tokens long{written} and {who} at most {most:,}; shorten it")
    cells = {"encoder": source * source, "decoder": target * target, "cross": target * source}
    weights = sum(part.layers * part.heads * cells[part.kind] for part in anatomy.layout)
    if weights > limits.weights:
        raise Refusal(
            413,
            f"the attention of {tokens:,} tokens is {weights:,} weights in {name}, and the explorer takes at most "
            f"{limits.weights:,}; shorten the text",
        )


def _with_roles(view: AttentionSnapshot, named: NamedModel) -> AttentionSnapshot:
    """Return the view with the roles that a study found, if the numbers of layers and heads match."""
    kinds = []
    for kind in view.kinds:
        layers, heads = kind.weights.shape[:2]
        roles = (named.roles or {}).get(kind.kind, ())
        fit = len(roles) == layers and all(len(row) == heads for row in roles)
        kinds.append(replace(kind, roles=roles) if fit else kind)
    return replace(view, kinds=tuple(kinds))
