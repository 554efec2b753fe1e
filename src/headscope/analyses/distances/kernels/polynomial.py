"""The Jensen-Shannon divergence of a pair of heads, cell by cell, without a logarithm.

With `p` and `q` the smoothed weights of two heads on one key, the cell's share of the divergence is

    F(p, q) = (p ln p + q ln q - (p + q) ln((p + q) / 2)) / 2

A sum of such terms in float32 loses small divergences: they are the difference of two entropies. But

    F(p, q) = (sqrt p - sqrt q)^2 g(v),    v = min(p / q, q / p)^(1/4)

where g is smooth, from ln(2) / 2 at v = 0 to 1/2 at v = 1. A polynomial approximates g, and the relative error of each
cell stays bounded, however similar the heads are. Roots and their reciprocals are computed once per head and cell, so
that a pair takes a dozen additions and multiplications.
"""

from typing import NamedTuple

SMOOTHING = 0.001


class Fit(NamedTuple):
    """A polynomial for g, in u = v + shift: lead x (u^n + 0 u^(n-1) + ... + rest[1] u + rest[0]).

    The shift removes the second power at no cost, because it is part of the multiply-adds that compute v. The sums are
    multiplied by the lead at the end.

    Attributes:
        lead: coefficient of the highest power.
        shift: added to v.
        rest: coefficients of u to the power 0, 1, ..., n - 2, exact in float32.
        error: largest relative error.
        keys: largest number of keys; more keys make the smallest smoothed weight smaller.
    """

    lead: float
    shift: float
    rest: tuple[float, ...]
    error: float
    keys: int


# Minimax fits of the relative error (linear programming on a Chebyshev grid, from the least v that smoothing
# allows up to 1). The short one, of degree 6, is for inputs of the usual length; the other is of degree 9.
_SHORT = Fit(
    -0.12457759177972022,
    -0.501609742641449,
    (-3.5618183612823486, -1.8505336046218872, 1.3769230842590332, 2.4788472652435303, -3.1388027667999268),
    6.5e-6,
    128,
)
_LONG = Fit(
    0.47857142077222836,
    -0.5415122509002686,
    (
        0.9457945227622986,
        0.450371116399765,
        -0.42790687084198,
        -0.5222533941268921,
        0.8108740448951721,
        0.03889784216880798,
        -0.259242981672287,
        -0.5465543866157532,
    ),
    2.0e-6,
    8192,
)


def fit_for(keys: int) -> Fit:
    """Return the polynomial for segments with this number of keys."""
    return _SHORT if keys <= _SHORT.keys else _LONG


def floor_of(keys: int) -> float:
    """Return the constant that smoothing adds to every weight of a row with n keys, 0.001 / n as in the original."""
    return SMOOTHING / keys
