"""How many inputs memory has room for together, as far as a run has found out."""

from headscope.errors import MemoryShortError


class BatchLimit:
    """Begins without a limit, and is halved each time that memory runs out.

    Attributes:
        most: inputs computed together at most; None where memory never ran out.
    """

    def __init__(self) -> None:
        self.most: int | None = None
        self._first: int | None = None

    def size(self, size: int) -> int:
        """Return how many inputs of a batch of that size are computed together."""
        return size if self.most is None else min(size, self.most)

    def halve(self, error: MemoryShortError) -> None:
        """Take note that memory ran out.

        Raises:
            MemoryShortError: it did with a single input.
        """
        if error.inputs == 1:
            raise error
        self._first = self._first or error.inputs
        self.most = error.inputs // 2

    @property
    def note(self) -> str | None:
        """What happened, for the user."""
        if self.most is None:
            return None
        return f"memory ran out with {self._first} inputs computed together; it went on with {self.most} (--batch-size)"
