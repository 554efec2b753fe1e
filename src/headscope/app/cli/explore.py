"""`headscope explore`: a local server with a page on which to type a sentence and see what the heads look at."""

import os
import socket
import sys
import threading
import webbrowser
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.app import typed as o
from headscope.app.beside_run import RUN
from headscope.app.cli.printing import say, say_beside
from headscope.app.explorer.request import HEADERS
from headscope.app.stopping import STOPPED
from headscope.encoding.choices import LOADING
from headscope.errors import OptionError
from headscope.installing import how_to_install
from headscope.scans.declarations.option import Option, switch

if TYPE_CHECKING:
    from uvicorn import Config

    from headscope.app.explorer.model_shelf import NamedModel
    from headscope.app.explorer.web_app import Explorer


HOST = "127.0.0.1"


def listen(port: int) -> socket.socket:
    """Return a socket on 127.0.0.1 at a port, or at a free one for 0.

    Raises:
        OptionError: the port is in use, or may not be used.
    """
    try:
        return socket.create_server((HOST, port))
    except (OSError, OverflowError) as error:
        number = getattr(error, "errno", None)
        reason = os.strerror(number) if number else str(error)
        raise OptionError(
            f"--port {port} cannot be used: {reason}; choose another, or leave --port out for a free one"
        ) from error


def serve(explorer: "Explorer", bound: socket.socket, *, open_browser: str | None = None) -> None:
    """Answer requests until Ctrl-C or SIGTERM.

    Args:
        explorer: explorer that answers.
        bound: socket to answer on.
        open_browser: address to open in the user's browser; the socket accepts connections already.

    Raises:
        KeyboardInterrupt: Ctrl-C, after the server has stopped.
    """
    import uvicorn

    explorer.start()
    if open_browser:
        # A browser may be slow to start.
        threading.Thread(target=webbrowser.open, args=(open_browser,), daemon=True).start()
    uvicorn.Server(config_of(explorer)).run(sockets=[bound])


def config_of(explorer: "Explorer") -> "Config":
    """Return uvicorn's configuration for an explorer: plain HTTP, silent, quick to stop."""
    import uvicorn

    return uvicorn.Config(
        explorer.asgi,
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="off",
        headers=list(HEADERS.items()),
        server_header=False,
        proxy_headers=False,
        access_log=False,  # addresses contain the token
        log_config=None,
        log_level="critical",
        limit_concurrency=explorer.limits.connections,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=1,
    )


EXAMPLE = "The cat sat on the mat, because it was warm."
_MODELS = replace(
    RUN["model"],
    kind=tuple[str, ...],
    default=(),
    help="Hub name or folder; may be repeated. The study's model, or the embedded one, when not given.",
)
_STUDY = Option(
    name="study",
    kind=Path | None,
    group="corpora",
    help="Folder written by headscope report, whose heads the explorer opens with.",
)
_PORT = Option(name="port", kind=int, default=0, least=0, group="machine", help="Port on 127.0.0.1; a free one when 0.")
_NO_BROWSER = switch("no_browser", "Only print the address; open no browser.", group="machine")


@o.takes(_MODELS, RUN["revision"], _STUDY, _PORT, _NO_BROWSER, *(RUN[name] for name in LOADING[1:]))
def command(
    *, model: list[str] | None, revision: str | None, study: Path | None, port: int, no_browser: bool, **loading: Any
) -> None:
    """Open a page on which to type sentences and see every head.

    Ctrl-C stops it.
    """
    if revision is not None and len(model or ()) != 1:
        raise OptionError("--revision is of one model; give one --model with it")
    _check_installed()
    from secrets import token_urlsafe

    from headscope.app.explorer.model_shelf import Shelf
    from headscope.app.explorer.web_app import Explorer

    named, blocks = _models(model, revision, study)
    bound = listen(port)
    token = token_urlsafe(24)
    explorer = Explorer(Shelf(named, loading=loading), token=token, example=EXAMPLE, study=blocks)
    address = f"http://{HOST}:{bound.getsockname()[1]}/?token={token}"
    say(f"explorer: {address}")
    say("Ctrl-C stops it")
    try:
        serve(explorer, bound, open_browser=None if no_browser else address)
    except KeyboardInterrupt as stopped:
        # A thread deep in torch cannot be ended, and Python's own exit would wait for it or crash on it; without such a
        # thread, that exit takes a second for nothing.
        say_beside(STOPPED)
        os._exit(getattr(stopped, "code", 130))


def _models(
    names: list[str] | None, revision: str | None, study: Path | None
) -> "tuple[list[NamedModel], dict[str, Any] | None]":
    """Return the models that may be used, and the data blocks of the study's atlas."""
    from headscope.app.explorer.model_shelf import named_models

    if study is None:
        return named_models(names, revision=revision), None
    if sys.stderr.isatty():
        # Reading the study takes seconds, before there is an address to print.
        say_beside(f"reading {study}")
    from headscope.app.explorer.model_shelf import study_model
    from headscope.present.study import open_study
    from headscope.reporting.atlas_page import atlas_blocks

    opened = open_study(study)
    blocks, study_named = atlas_blocks(opened), study_model(opened)
    return (named_models(names, revision=revision, study=study_named) if names else [study_named]), blocks


def _check_installed() -> None:
    """Raise an error with one sentence on a missing package, before anything is loaded.

    Raises:
        OptionError: starlette, uvicorn or cachetools is not installed.
    """
    from importlib.util import find_spec

    for package in ("starlette", "uvicorn", "cachetools"):
        if find_spec(package) is None:
            raise OptionError(f"headscope explore needs {package}; {how_to_install('explore')}")
