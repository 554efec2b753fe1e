"""The explorer's server: a socket on 127.0.0.1, uvicorn, and the end by Ctrl-C."""

from __future__ import annotations

import os
import socket
import threading
import webbrowser
from typing import TYPE_CHECKING

from headscope.app.explorer.request import HEADERS
from headscope.errors import OptionError

if TYPE_CHECKING:
    from uvicorn import Config

    from headscope.app.explorer.web_app import Explorer

HOST = "127.0.0.1"


def listen(port: int) -> socket.socket:
    """Return a socket on 127.0.0.1 at a port, or at a free one for 0.

    Raises:
        OptionError: the port is in use, or may not be used.
    """
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if os.name == "posix":
        # Without this a port stays in use for a minute after its server stopped; on Windows two servers would share it.
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((HOST, port))
        bound.listen()
    except OSError as error:
        bound.close()
        reason = error.strerror or str(error)
        raise OptionError(
            f"--port {port} cannot be used: {reason}; choose another, or leave --port out for a free one"
        ) from error
    return bound


def serve(explorer: Explorer, bound: socket.socket, *, open_browser: str | None = None) -> None:
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


def config_of(explorer: Explorer) -> Config:
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
