"""Make the next items of a stream while earlier ones are processed, so that tokenizing does not wait for the GPU."""

from collections.abc import Iterable, Iterator
from queue import Queue
from threading import Event, Thread
from typing import TypeVar

Item = TypeVar("Item")
_END = object()


def ahead(items: Iterable[Item], *, most: int = 2) -> Iterator[Item]:
    """Yield items in their order, while a thread makes the next ones.

    An error in making an item is raised at its place. A consumer that stops early stops the thread.

    Args:
        items: items to yield; iterated once, in the thread.
        most: maximum number of items that wait to be consumed.
    """
    waiting: Queue[tuple[object, BaseException | None]] = Queue(maxsize=most)
    stopped = Event()

    def make() -> None:
        try:
            for item in items:
                waiting.put((item, None))
                if stopped.is_set():
                    return
        except BaseException as error:
            waiting.put((_END, error))
        else:
            waiting.put((_END, None))

    maker = Thread(target=make, name="headscope-ahead", daemon=True)
    maker.start()
    try:
        while True:
            item, error = waiting.get()
            if error is not None:
                raise error
            if item is _END:
                return
            yield item  # type: ignore[misc]
    finally:
        stopped.set()
        while maker.is_alive():
            # The thread may be waiting for room in the queue.
            while not waiting.empty():
                waiting.get()
            maker.join(timeout=0.05)
