"""The explorer as an ASGI app: its page, and the page's requests.

```
GET  /?token=T                                  the page
GET  /api/models                                {"models": [{"name", "state", "message", "decoder", "writes"}]}
POST /api/look {"model", "text", "text_b"?, "decoder_text"?, "generate"?}
                                                the payload of views/view_payload.py without maps, with the look's "id"
GET  /api/look/ID/layer?kind=K&layer=N          one layer's maps, as views.quantize.write_weights writes them
GET  /api/look/ID/neuron?kind=K&layer=N         its queries and keys, as views.view_payload.neuron_bytes writes; the
                                                header X-Headscope-Neuron holds their layout as JSON. If there are none:
                                                {"no_neuron": why}
GET  /api/look/ID/score?kind=K&layer=N&head=H&query=Q&key=P
                                                the sources of one score: {"weight", "above_mean", "sides"}
```

Layers and heads are labels, from 1; query and key are positions, from 0. `/api` requires the token in the header
X-Headscope-Token. An error is {"error": sentence}.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, MutableMapping
from functools import partial
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from headscope.app.explorer.model_shelf import Shelf
from headscope.app.explorer.page import AccessCheck, closed_door, explorer_page
from headscope.app.explorer.request import Limits, LookRequest, Refusal, internal_error, read_request
from headscope.app.explorer.served_snapshot import Look, cache_of, take_look, take_neuron, take_score
from headscope.attention.head_id import HeadId

Kept = TypeVar("Kept")
NEURON_HEADER = "X-Headscope-Neuron"
_GONE = "this sentence's attention is not kept any more; look at the sentence again"


class Explorer:
    """State of one server: its models, of which one at a time computes, and the cached looks.

    Attributes:
        asgi: app, including the checks of host, token and origin.

    Args:
        shelf: models, not yet started.
        token: token that every request must contain.
        example: text that the page shows first.
        study: data blocks of the study's atlas, by id; None without a study.
        limits: limits of the server.
    """

    def __init__(
        self,
        shelf: Shelf,
        *,
        token: str,
        example: str = "",
        study: Mapping[str, Any] | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.shelf = shelf
        self.limits = limits or Limits()
        self.looks, self.neurons = cache_of(self.limits.kept), cache_of(self.limits.kept)
        self._turn = asyncio.Lock()
        self._page = explorer_page(list(shelf.named), example=example, study=study, limits=self.limits)
        routes = [
            Route("/", self.page),
            Route("/api/models", self.models),
            Route("/api/look", self.look, methods=["POST"]),
            Route("/api/look/{id}/layer", self.layer),
            Route("/api/look/{id}/neuron", self.neuron),
            Route("/api/look/{id}/score", self.score),
        ]
        checks = [
            # The host's name is checked so that no foreign name can lead here (DNS rebinding).
            Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"]),
            Middleware(AccessCheck, token=token, closed=closed_door()),
        ]
        handlers = {Refusal: _refused, HTTPException: _not_found, Exception: _failed}
        self.asgi = Starlette(routes=routes, middleware=checks, exception_handlers=handlers)
        self.asgi.router.redirect_slashes = False

    def start(self) -> None:
        """Start loading models."""
        self.shelf.start()

    async def page(self, request: Request) -> Response:
        """Answer with the page."""
        return self._page

    async def models(self, request: Request) -> Response:
        """Answer with the state of each model."""
        return JSONResponse({"models": self.shelf.descriptions()})

    async def look(self, request: Request) -> Response:
        """Run a model on a text, or answer from the cache."""
        look_request = read_request(await _body(request, self.limits.body), limits=self.limits)
        self.shelf.ready(look_request.model)
        look = await self._made(self.looks, take_look, look_request)
        return Response(look.payload_json, media_type="application/json")

    async def layer(self, request: Request) -> Response:
        """Answer with one layer's maps."""
        look = self._kept(request)
        body = _of(look.layers, request)
        return Response(body, media_type="application/octet-stream")

    async def neuron(self, request: Request) -> Response:
        """Answer with one layer's queries and keys; the model runs again if they are not cached."""
        look = self._kept(request)
        _of(look.layers, request)
        neuron = await self._made(self.neurons, take_neuron, look.request)
        kind = request.query_params["kind"]
        if kind in neuron.refused:
            return JSONResponse({"no_neuron": neuron.refused[kind]})
        parts, body = _of(neuron.layers, request)
        return Response(body, media_type="application/octet-stream", headers={NEURON_HEADER: parts})

    async def score(self, request: Request) -> Response:
        """Answer with the sources of one score; the model runs again."""
        look = self._kept(request)
        _of(look.layers, request)
        kind, layer = request.query_params["kind"], int(request.query_params["layer"])
        head, query, key = (_number(request, name) for name in ("head", "query", "key"))
        named = HeadId(kind, layer, head)
        async with self._turn:
            found = await _computed(partial(take_score, self.shelf, look.request, head=named, query=query, key=key))
        return JSONResponse(found)

    async def _made(
        self, kept: MutableMapping[str, Kept], take: Callable[..., Kept], look_request: LookRequest
    ) -> Kept:
        """Return the cached result of a request, or compute it; of equal requests, only the first computes it."""
        if (result := kept.get(look_request.id)) is not None:
            return result
        async with self._turn:
            if (result := kept.get(look_request.id)) is None:
                result = await _computed(partial(take, self.shelf, look_request, limits=self.limits))
                kept[look_request.id] = result
        return result

    def _kept(self, request: Request) -> Look:
        look: Look | None = self.looks.get(request.path_params["id"])
        if look is None:
            raise Refusal(410, _GONE)
        return look


async def _computed(compute: Callable[[], Kept]) -> Kept:
    """Return the result of a function that runs in a thread."""

    def run() -> Kept:
        try:
            return compute()
        except Exception:
            raise
        except BaseException as error:  # a panic in a tokenizer's Rust code, which would end the server
            raise RuntimeError(f"{type(error).__name__}: {error}") from error

    return await run_in_threadpool(run)


async def _body(request: Request, most: int) -> bytes:
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > most:
                raise Refusal(413, f"the request is over {most:,} bytes; shorten the text")
    except ClientDisconnect:
        raise Refusal(400, "the connection was closed before the request had arrived; send it again") from None
    return bytes(body)


def _of(layers: Mapping[str, Mapping[int, Any]], request: Request) -> Any:
    """Return the layer that a request names by kind and label."""
    kind, layer = request.query_params.get("kind", ""), request.query_params.get("layer", "")
    if kind not in layers:
        raise Refusal(404, f"unknown kind of attention; choose one of {', '.join(layers)}")
    labels = layers[kind]
    label = int(layer) if re.fullmatch(r"[0-9]{1,5}", layer) else 0
    if label not in labels:
        raise Refusal(404, f"unknown layer; expected a number from {min(labels)} to {max(labels)}")
    return labels[label]


def _number(request: Request, name: str) -> int:
    """Return a whole number of a request's address."""
    value = request.query_params.get(name, "")
    if not re.fullmatch(r"[0-9]{1,6}", value):
        raise Refusal(404, f"expected a whole number as {name}")
    return int(value)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return JSONResponse({"error": error.sentence}, error.status, headers=dict(error.headers))


async def _failed(request: Request, error: Exception) -> Response:
    return await _refused(request, internal_error(error))


async def _not_found(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    what = {
        404: "there is nothing at this address; expected /, /api/models or /api/look",
        405: "this address takes another method; the page uses GET, and POST for /api/look",
    }.get(error.status_code, error.detail)
    return JSONResponse({"error": what}, error.status_code, headers=dict(error.headers or {}))
