"""One connection to the explorer, with a time limit on every wait for the client, and a limit on their number.

uvicorn waits without limit for a request's head, for the rest of a body that was already answered, and for a client
that does not take its answer; and it does not limit the number of such connections.
"""

from __future__ import annotations

import socket
from asyncio import TimerHandle, Transport
from contextlib import suppress
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from headscope.app.explorer.http_answers import Refusal, busy, last_answer
from headscope.app.explorer.limits import Limits

_SYSTEMS_BUFFER = 128 * 1024


class Connection(H11Protocol):
    """uvicorn's connection, closed by the conditions in `Limits`.

    Args:
        limits: time limits for clients, and the maximum number of connections.
        protocol_options: arguments that uvicorn passes to a protocol.
    """

    def __init__(self, *, limits: Limits, **protocol_options: Any) -> None:
        super().__init__(**protocol_options)
        self.limits = limits
        self.waits_since = self.loop.time()
        self._leaving = self._dropped = False
        self._head_due: TimerHandle | None = None
        self._answer_due: TimerHandle | None = None
        self._untaken = 0

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Wait for a request, if there is room."""
        super().connection_made(transport)
        # With an empty buffer and a small system buffer, a client that does not read its answer is noticed here.
        transport.set_write_buffer_limits(high=0)
        with suppress(OSError):  # the client has left
            connected = transport.get_extra_info("socket")
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SYSTEMS_BUFFER)
        if self._make_room():
            self._wait_for_head()
        else:
            open_ = self.limits.connections
            self._leave(busy(f"{open_} requests are being answered already; ask again in a moment"))

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel all timers."""
        self._dropped = True
        self._stop_waiting_for_head()
        self._stop_waiting_for_taking()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read the received data; data from a refused client is ignored."""
        if self._leaving:
            return
        super().data_received(data)
        if self._answering:
            self._stop_waiting_for_head()
        elif not self._leaving:
            self._wait_for_head()

    def on_response_complete(self) -> None:
        """Wait for the next request, whose first bytes may be here; close after one that was not read completely."""
        super().on_response_complete()
        if self._answering or self.transport.is_closing():
            return
        self.waits_since = self.loop.time()
        if self.conn.their_state is h11.SEND_BODY:
            self._linger()
        elif self.conn.trailing_data[0]:
            self._wait_for_head()

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are not a request."""
        most = self.limits.head
        self._leave(Refusal(400, f"expected an HTTP request whose line and headers take at most {most:,} bytes"))

    def pause_writing(self) -> None:
        """Wait for the client to take its answer."""
        super().pause_writing()
        self._wait_for_taking()

    def resume_writing(self) -> None:
        """Stop waiting, because the client took its answer."""
        self._stop_waiting_for_taking()
        super().resume_writing()

    def shutdown(self) -> None:
        """Close the connection when the server shuts down."""
        if self._leaving:
            self._drop()
        else:
            super().shutdown()

    @property
    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def _owes(self) -> bool:
        """True if the client has to act: to send a request, to close, or to take its answer."""
        return self._leaving or not self._answering or self.flow.write_paused

    def _make_room(self) -> bool:
        """Return True if this connection may stay; if needed, close the one that was waited for the longest."""
        others = [
            each for each in self.connections if isinstance(each, Connection) and each is not self and not each._dropped
        ]
        leaving = [each for each in others if each._leaving]
        if len(leaving) >= self.limits.leaving:
            min(leaving, key=lambda each: each.waits_since)._drop()
        if len(others) - len(leaving) < self.limits.connections:
            return True
        owing = [each for each in others if each._owes and not each._leaving]
        if not owing:
            return False
        # A connection whose client reads its answer slowly is closed last, because it already has an answer.
        last = min(owing, key=lambda each: (each.flow.write_paused, each.waits_since))
        if last.flow.write_paused:
            last._drop()
        elif last.cycle is not None:
            last._linger()  # between two requests, where there is nothing to answer
        else:
            # Its first request may be on the way; if it were dropped now, the connection would be reset.
            last._leave(busy(f"{self.limits.connections} connections are open already; ask again in a moment"))
        return True

    def _wait_for_head(self) -> None:
        """Start the timer; bytes that arrive one by one do not restart it."""
        if self._head_due is None:
            self._head_due = self.loop.call_later(self.limits.head_seconds, self._head_is_late)

    def _stop_waiting_for_head(self) -> None:
        if self._head_due is not None:
            self._head_due.cancel()
            self._head_due = None

    def _head_is_late(self) -> None:
        begun = self.conn.our_state is h11.IDLE and self.conn.trailing_data[0]
        if begun and not self.flow.write_paused:
            seconds = self.limits.head_seconds
            self._leave(Refusal(408, f"the request did not arrive within {seconds:g} seconds; send it again"))
        else:
            self._drop()

    def _wait_for_taking(self) -> None:
        self._untaken = self.transport.get_write_buffer_size()
        self._answer_due = self.loop.call_later(self.limits.answer_seconds, self._was_it_taken)

    def _stop_waiting_for_taking(self) -> None:
        if self._answer_due is not None:
            self._answer_due.cancel()
            self._answer_due = None

    def _was_it_taken(self) -> None:
        if self._untaken - self.transport.get_write_buffer_size() < self.limits.answer_bytes:
            self._drop()
        else:
            self._wait_for_taking()

    def _leave(self, refusal: Refusal) -> None:
        """Answer in place of the app, if no answer has begun, and close."""
        if self._answering:
            self.cycle.disconnected = True
            self.cycle.waiting_for_100_continue = False
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.write(last_answer(refusal))
        self._linger()

    def _linger(self) -> None:
        """Close when the client does, or soon; closed while bytes still arrive, a connection loses its answer."""
        self._leaving = True
        self._stop_waiting_for_head()
        self._unset_keepalive_if_required()
        with suppress(OSError):  # the client has left
            self.transport.write_eof()
        self._head_due = self.loop.call_later(self.limits.linger_seconds, self._drop)

    def _drop(self) -> None:
        self._dropped = True
        self.transport.abort()
