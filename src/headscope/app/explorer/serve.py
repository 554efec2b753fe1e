"""The explorer's server: a socket on 127.0.0.1, uvicorn, and the end by Ctrl-C."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import threading
import webbrowser
from functools import partial
from typing import TYPE_CHECKING

from headscope.app.explorer.trouble import say_loops
from headscope.errors import OptionError

if TYPE_CHECKING:
    from uvicorn import Config, Server

    from headscope.app.explorer.web_app import Explorer

HOST = "127.0.0.1"
# Seconds between checks whether the server should stop, and seconds for answers under way when it does.
_TICK, _GRACE = 0.05, 1
# Connections that wait to be accepted, or are accepted at once: each takes a file descriptor.
_BACKLOG = 64


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
        bound.listen(_BACKLOG)
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRINUSE:
            raise OptionError(f"--port {port} is in use; choose another, or leave --port out for a free one") from error
        if error.errno in (errno.EACCES, errno.EPERM):
            raise OptionError(f"--port {port} may not be used; choose one from 1024 to 65535") from error
        raise
    return bound


def serve(explorer: Explorer, bound: socket.socket, *, open_browser: str | None = None) -> None:
    """Answer requests until Ctrl-C or SIGTERM.

    Args:
        explorer: explorer that answers.
        bound: socket to answer on.
        open_browser: address to open in the user's browser once the server answers.

    Raises:
        KeyboardInterrupt: Ctrl-C, after the server has stopped.
    """
    import uvicorn

    server = uvicorn.Server(config_of(explorer))
    explorer.start()
    try:
        asyncio.run(run(server, explorer, bound, open_browser))
    finally:
        explorer.stop()
        bound.close()


def config_of(explorer: Explorer) -> Config:
    """Return uvicorn's configuration for an explorer: plain HTTP, silent, quick to stop."""
    import uvicorn

    from headscope.app.explorer.connection import Connection

    return uvicorn.Config(
        explorer.asgi,
        loop="asyncio",
        # uvicorn expects a class here, but only calls it.
        http=partial(Connection, limits=explorer.limits),  # type: ignore[arg-type]
        h11_max_incomplete_event_size=explorer.limits.head,
        proxy_headers=False,
        backlog=_BACKLOG,
        ws="none",
        lifespan="off",
        access_log=False,  # addresses contain the token
        log_config=None,
        log_level="critical",
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_GRACE,
    )


async def run(server: Server, explorer: Explorer, bound: socket.socket, open_browser: str | None = None) -> None:
    """Answer requests until `server.should_exit`.

    Args:
        server: server made with `config_of`.
        explorer: as in `serve`.
        bound: as in `serve`.
        open_browser: as in `serve`.
    """
    asyncio.get_running_loop().set_exception_handler(say_loops)

    async def watch() -> None:
        while not server.started and not server.should_exit:
            await asyncio.sleep(_TICK)
        if open_browser and not server.should_exit:
            # A browser may be slow to start.
            threading.Thread(target=webbrowser.open, args=(open_browser,), daemon=True).start()
        while not server.should_exit:
            await asyncio.sleep(_TICK)
        # Clients that wait for the model are answered now, so that uvicorn has nothing to wait for.
        explorer.stop()

    watching = asyncio.create_task(watch())
    try:
        await server.serve(sockets=[bound])
    finally:
        watching.cancel()
