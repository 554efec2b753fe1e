"""One thread that runs jobs one after another, for a server that must never block."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from headscope.app.explorer.http_answers import busy

Answer = TypeVar("Answer")


class Worker:
    """A daemon thread with a queue: a server that stops does not wait for its current job, as an executor would.

    Args:
        name: name of the thread.
        waiting: maximum number of waiting jobs; further ones are refused.
    """

    def __init__(self, name: str, *, waiting: int) -> None:
        self.waiting = waiting
        self._jobs: queue.Queue[tuple[Future[Any], Callable[[], Any]]] = queue.Queue(waiting)
        threading.Thread(target=self._work, name=name, daemon=True).start()

    async def run(self, job: Callable[[], Answer]) -> Answer:
        """Run a job in the thread and return its result.

        Raises:
            Refusal: 503 if too many jobs wait.
            Exception: any error of the job.
        """
        future: Future[Answer] = Future()
        try:
            self._jobs.put_nowait((future, job))
        except queue.Full:
            raise busy(f"{self.waiting} sentences wait for the model already; ask again in a moment") from None
        return await asyncio.wrap_future(future)

    def _work(self) -> None:
        while True:
            future, job = self._jobs.get()
            # The client may have disconnected.
            if future.set_running_or_notify_cancel():
                _run(job, future)


def _run(job: Callable[[], Any], future: Future[Any]) -> None:
    try:
        result = job()
    except BaseException as error:
        # A panic in a tokenizer's Rust code is not an Exception, and must not end the thread. A future does not accept
        # StopIteration.
        if not isinstance(error, Exception) or isinstance(error, StopIteration):
            plain_error = RuntimeError(f"{type(error).__name__}: {error}")
            error = plain_error.with_traceback(error.__traceback__)
        future.set_exception(error)
    else:
        future.set_result(result)
