"""The Jensen-Shannon divergence of a pair of heads, a cell at a time, without a logarithm.

With `p` and `q` the smoothed weights of two heads on one key, the cell's share of the divergence is

    F(p, q) = (p ln p + q ln q - (p + q) ln((p + q) / 2)) / 2

A sum of such terms in float32 loses small divergences: they are the difference of two entropies. But

    F(p, q) = (sqrt p - sqrt q)^2 g(v),    v = min(p / q, q / p)^(1/4)

where g is smooth, from ln(2) / 2 at v = 0 to 1/2 at v = 1. So a polynomial does for g, and each cell keeps its
relative error, however alike the heads are. Roots and their reciprocals are taken once a head and cell; what is
left for each pair is a dozen additions and multiplications.
"""

from typing import NamedTuple

SMOOTHING = 0.001


class Fit(NamedTuple):
    """A polynomial for g.

    Attributes:
        coefficients: of v to the power 0, 1, ..., exact in float32.
        error: its largest relative error.
        keys: the number of keys that the fit reaches: the more there are, the smaller the least weight.
    """

    coefficients: tuple[float, ...]
    error: float
    keys: int


# Minimax fits of the relative error (linear programming on a Chebyshev grid, from the least v that smoothing
# allows up to 1). The short one is for inputs of the usual length.
_SHORT = Fit(
    (
        0.34667012095451355,
        -0.004149237647652626,
        0.7651875019073486,
        -0.7789138555526733,
        -0.07915441691875458,
        0.3749360144138336,
        -0.1245775893330574,
    ),
    6.5e-6,
    128,
)
_LONG = Fit(
    (
        0.34658148884773254,
        -0.0006867098854854703,
        0.7149513959884644,
        -0.41546860337257385,
        -1.5621086359024048,
        3.9960310459136963,
        -5.515963554382324,
        4.790463924407959,
        -2.3323705196380615,
        0.47857141494750977,
    ),
    2.6e-6,
    8192,
)


def fit_for(keys: int) -> Fit:
    """Return the polynomial for segments of so many keys; it is chosen by the segment alone."""
    return _SHORT if keys <= _SHORT.keys else _LONG


def floor_of(keys: int) -> float:
    """Return what smoothing adds to every weight of a row of so many keys (original code: 0.001 / n)."""
    return SMOOTHING / keys
