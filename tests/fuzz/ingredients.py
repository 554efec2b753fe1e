"""Values that break readers: known ones, and random ones from Hypothesis."""

from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

TEXTS = (
    *("", " ", "\t", "\n", "\r", "\0", "\x0b", "\x1b[2J\x1b[31m", "\x9b31m", "\x7f", "\u0085", "\u2028", "\u2029"),
    *("\ufeff", "\u200b", "\u200d", "\u202egnp.exe", "\u2066", "\ufffe", "\U000e0041", "e" + "\u0301" * 200),
    *("\U0001f469\u200d\U0001f469\u200d\U0001f467", "\ud800", "\udfff\ud800", "İ", "ß", "ﬁ", "שלום", "\U0010ffff"),
    *("[/x]", "[bold]", "</script><script>alert(1)</script>", "<!--", "&amp;", "\"'><img src=x onerror=alert(1)>"),
    *("%s%n", "{0}", "{0.__class__}", "$(id)", "../../../etc/passwd", "/dev/zero", "C:\\x", "-", "--", "_", "*"),
    *("(", ")", "(((", "|", "(1", "1)", "(1)", "(e1[1/2]-x", "e1[2/2])", "#begin document (x); part 0", "# newdoc"),
    *("١٢", "²", "１２", "0x10", "1_000", "+1", "-1", "1e5", "01", "1.0", "NaN", "Infinity", "-Infinity", "nan"),
    *("null", "true", "None", "[]", "{}", '"', "'", "\\", "\\u0000", "\\ud800", "0-root", "1-2", "1.1", "5-5"),
)  # fmt: skip
NUMBERS = (
    *(0, -1, 1, 2, 127, 128, 255, 256, 65535, 65536, 100_001, 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63),
    *(-(2**31), -(2**63), 2**64, 10**18, 10**30, 10**400, 0.5, -0.0, 1e-320, 1e308, float("nan"), float("inf")),
)  # fmt: skip
_QUIET = settings(
    max_examples=150, phases=[Phase.generate], database=None, deadline=None, suppress_health_check=list(HealthCheck)
)


@dataclass(frozen=True)
class Ingredients:
    """Values that mutations insert; the same for the same seed.

    Attributes:
        texts: strings, including some that UTF-8 cannot encode.
        numbers: integers and floats, including NaN.
        values: arbitrary JSON values.
    """

    texts: tuple[str, ...]
    numbers: tuple[int | float, ...]
    values: tuple[Any, ...]

    def bytes(self, rng: Random) -> bytes:
        """Return the bytes of a text, or random bytes."""
        if rng.random() < 0.1:
            return rng.randbytes(rng.randint(1, 40))
        return rng.choice(self.texts).encode("utf-8", "surrogatepass")


@cache
def ingredients(number: int) -> Ingredients:
    """Return the ingredients of a seed."""
    leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
    values = st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
        max_leaves=10,
    )
    texts = st.text(st.characters(), max_size=30)
    return Ingredients(
        texts=(*TEXTS, *_drawn(texts, number)),
        numbers=(*NUMBERS, *_drawn(st.integers() | st.floats(), number)),
        values=(*NUMBERS, *TEXTS, None, True, False, [], {}, *_drawn(values, number)),
    )


def _drawn(strategy: st.SearchStrategy[Any], number: int) -> list[Any]:
    found: list[Any] = []

    @seed(number)
    @_QUIET
    @given(strategy)
    def collect(value: Any) -> None:
        found.append(value)

    collect()
    return found
