"""The next items of a stream made while the last are worked on: tokenizing waits for no accelerator."""

from collections.abc import Iterable, Iterator
from queue import Queue
from threading import Event, Thread
from typing import TypeVar

Item = TypeVar("Item")
_END = object()


def ahead(items: Iterable[Item], *, most: int = 2) -> Iterator[Item]:
    """Yield items in their order, the next of them made in a thread meanwhile.

    An error in making them is raised where its item would have come. A consumer that stops early stops the thread.

    Args:
        items: gone through once, in the thread.
        most: so many wait to be asked for.
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
            # It may be waiting for room.
            while not waiting.empty():
                waiting.get()
            maker.join(timeout=0.05)
