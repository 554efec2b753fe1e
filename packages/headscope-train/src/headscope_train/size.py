"""The size of a model that is trained from scratch."""

import re
from dataclasses import dataclass

from headscope.errors import OptionError


@dataclass(frozen=True)
class Size:
    """The size of a new model: number of layers, of heads in each, and the width that the heads share."""

    layers: int
    heads: int
    width: int

    @classmethod
    def read(cls, text: str) -> "Size":
        """Read `LAYERSxHEADSxWIDTH`.

        Raises:
            OptionError: it is not three whole numbers from 1, or the heads cannot share the width.
        """
        match = re.fullmatch(r"([1-9]\d{0,5})[x×]([1-9]\d{0,5})[x×]([1-9]\d{0,5})", text.strip().lower())
        if match is None:
            raise OptionError(f"--size {text!r} is not known; expected LAYERSxHEADSxWIDTH, as 4x4x128")
        size = cls(*map(int, match.groups()))
        if size.width % size.heads:
            near = size.heads * max(1, round(size.width / size.heads))
            raise OptionError(
                f"--size {text}: {size.heads} heads cannot share a width of {size.width}; expected a multiple of "
                f"{size.heads}, as {near}"
            )
        return size

    def __str__(self) -> str:
        return f"{self.layers}x{self.heads}x{self.width}"
