"""One thread that runs jobs one after another, for a server that must never block."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from headscope.app.explorer.http_answers import busy

Answer = TypeVar("Answer")
STOPPING = "the explorer is being stopped"


class Worker:
    """A daemon thread with a queue: a server that stops does not wait for its current job.

    Args:
        name: name of the thread.
        waiting: maximum number of waiting jobs; further ones are refused.
    """

    def __init__(self, name: str, *, waiting: int) -> None:
        self.waiting = waiting
        self.stopped = False
        self._jobs: deque[_Job] = deque()
        self._changed = threading.Condition()
        self._at: _Job | None = None
        threading.Thread(target=self._work, name=name, daemon=True).start()

    @property
    def busy(self) -> bool:
        """True if a job is running."""
        return self._at is not None

    async def run(self, job: Callable[[], Answer]) -> Answer:
        """Run a job in the thread and return its result.

        Raises:
            Refusal: 503 if too many jobs wait, or the worker was stopped.
            Exception: any error of the job.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Answer] = loop.create_future()
        with self._changed:
            if self.stopped:
                raise busy(STOPPING)
            if len(self._jobs) >= self.waiting:
                raise busy(f"{len(self._jobs)} sentences wait for the model already; ask again in a moment")
            self._jobs.append(_Job(loop, future, job))
            self._changed.notify()
        return await future

    def stop(self) -> None:
        """Refuse all waiting and future jobs; the running job is not waited for."""
        with self._changed:
            self.stopped = True
            left = [*self._jobs, *([self._at] if self._at else [])]
            self._jobs.clear()
            self._changed.notify()
        for job in left:
            job.answer(error=busy(STOPPING))

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._jobs and not self.stopped:
                    self._changed.wait()
                if self.stopped:
                    return
                self._at = self._jobs.popleft()
            # The client may have disconnected.
            if not self._at.future.cancelled():
                self._at.do()
            self._at = None


class _Job:
    def __init__(self, loop: asyncio.AbstractEventLoop, future: asyncio.Future[Any], job: Callable[[], Any]) -> None:
        self.loop = loop
        self.future = future
        self.job = job

    def do(self) -> None:
        try:
            result = self.job()
        except BaseException as error:
            # A panic in a tokenizer's Rust code is not an Exception, and must not end the thread. A future does not
            # accept StopIteration.
            if not isinstance(error, Exception) or isinstance(error, StopIteration):
                plain_error = RuntimeError(f"{type(error).__name__}: {error}")
                error = plain_error.with_traceback(error.__traceback__)
            self.answer(error=error)
        else:
            self.answer(result)

    def answer(self, result: Any = None, error: Exception | None = None) -> None:
        # The loop may be closed; then nobody waits any more.
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self._settle, result, error)

    def _settle(self, result: Any, error: Exception | None) -> None:
        if self.future.done():
            return
        if error is None:
            self.future.set_result(result)
        else:
            self.future.set_exception(error)
