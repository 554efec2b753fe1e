"""The maximum batch size that fits into memory, as known so far in a run."""

from headscope.errors import MemoryShortError


class BatchLimit:
    """A limit on the batch size: none at first, then halved each time that memory runs out.

    Attributes:
        most: maximum number of inputs computed together; None if memory never ran out.
    """

    def __init__(self) -> None:
        self.most: int | None = None
        self._first: int | None = None

    def size(self, size: int) -> int:
        """Return the number of inputs of a batch of `size` inputs that are computed together."""
        return size if self.most is None else min(size, self.most)

    def halve(self, error: MemoryShortError) -> None:
        """Lower the limit after memory ran out.

        Raises:
            MemoryShortError: memory ran out with a single input.
        """
        if error.inputs == 1:
            raise error
        self._first = self._first or error.inputs
        self.most = error.inputs // 2

    @property
    def note(self) -> str | None:
        """Message about the limit for the user; None if there is none."""
        if self.most is None:
            return None
        return f"memory ran out with {self._first} inputs computed together; it went on with {self.most} (--batch-size)"
