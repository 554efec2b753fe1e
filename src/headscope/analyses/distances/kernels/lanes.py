"""Sixteen rows at a time: the inner loops of the divergence, written as LLVM instructions.

A compiler by itself uses half the vector width and finishes one pair before the next, so that each step waits for the
last. Here an instruction handles sixteen rows, and six pairs are computed side by side.

The features of a head and key are three vectors of 16 floats, one per row: the square root of the smoothed weight, its
fourth root, and the reciprocal of the fourth root.
"""

from typing import Any

from llvmlite import ir

from headscope.analyses.distances.kernels.vectors import (
    DOUBLE,
    FAST,
    FLOAT,
    INDEX,
    LANES,
    ROWS,
    Values,
    call,
    load,
    multiply_add,
    smaller,
    store,
    transposed,
)

ABREAST = 6
FEATURES = 3 * LANES
KEYS = 16  # a chunk


def add_pairs(
    build: Any, features: Any, head: Any, partners: Any, pitch: int, keys: Any, fit: Values, sums: Any, first_sum: Any
) -> None:
    """Add the divergences of one head from six others, over some keys, to six sums of 16 rows.

    Args:
        build: the IR builder; the other arguments are values of the compiled program.
        features: address of all heads' features, float32; the keys of a head are contiguous.
        head, partners: offsets of the features of the head, and of the first of its six partners.
        pitch: floats from one head to the next.
        keys: number of keys, at least one.
        fit: shift and rest of the polynomial (`polynomial.Fit`), each in every lane.
        sums: float32, six times 16 from `first_sum` on.
        first_sum: offset of the first sum.
    """
    six = range(ABREAST)
    shift, *powers = fit
    sum_positions = [build.add(first_sum, INDEX(LANES * i)) for i in six]
    begun = [load(build, sums, at) for at in sum_positions]
    before, loop, after = build.block, build.append_basic_block(), build.append_basic_block()
    build.branch(loop)
    build.position_at_end(loop)
    key = build.phi(INDEX)
    key.add_incoming(INDEX(0), before)
    running = [build.phi(ROWS) for _ in six]
    for total, first in zip(running, begun):
        total.add_incoming(first, before)

    offset = build.mul(key, INDEX(FEATURES))
    head_key = build.add(head, offset)
    partner_keys = [build.add(build.add(partners, offset), INDEX(pitch * i)) for i in six]

    def feature(at: Any, number: int) -> Any:
        return load(build, features, build.add(at, INDEX(LANES * number)))

    # Each step is done for all six pairs before the next, so that the processor never waits for a result.
    fourth, inverse = feature(head_key, 1), feature(head_key, 2)
    up = [multiply_add(build, fourth, feature(at, 2), shift) for at in partner_keys]
    down = [multiply_add(build, inverse, feature(at, 1), shift) for at in partner_keys]
    ratio = [smaller(build, a, b) for a, b in zip(up, down)]
    value = ratio
    for power in reversed(powers):
        value = [multiply_add(build, v, r, power) for v, r in zip(value, ratio)]
    root = feature(head_key, 0)
    apart = [build.fsub(root, feature(at, 0), flags=FAST) for at in partner_keys]
    square = [build.fmul(a, a, flags=FAST) for a in apart]
    grown = [multiply_add(build, s, v, total) for s, v, total in zip(square, value, running)]

    following = build.add(key, INDEX(1))
    key.add_incoming(following, loop)
    for total, new in zip(running, grown):
        total.add_incoming(new, loop)
    build.cbranch(build.icmp_signed("<", following, keys), loop, after)
    build.position_at_end(after)
    for new, at in zip(grown, sum_positions):
        store(build, new, sums, at)


def emit_features(
    build: Any, weights: Any, stride: Any, scale: Any, least: Any, features: Any, first_feature: Any
) -> None:
    """Turn 16 rows x 16 keys of weights into features of 16 keys, a lane a row.

    Args:
        build: the IR builder; the other arguments are values of the compiled program.
        weights: address of the first weight, float32.
        stride: floats from one row to the next.
        scale, least: smoothing, each in every lane: weight x scale + least.
        features: written from `first_feature` on.
    """
    rows = [load(build, weights, build.mul(stride, INDEX(row))) for row in range(LANES)]
    for key, weight in enumerate(transposed(build, rows)):
        smooth = multiply_add(build, weight, scale, least)
        root = call(build, "llvm.sqrt.v16f32", ROWS, [smooth])
        fourth = call(build, "llvm.sqrt.v16f32", ROWS, [root])
        inverse = build.fdiv(ir.Constant(ROWS, [ir.Constant(FLOAT, 1.0)] * LANES), fourth, flags=FAST)
        for number, value in enumerate((root, fourth, inverse)):
            store(build, value, features, build.add(first_feature, INDEX(FEATURES * key + LANES * number)))


def total_rows(build: Any, rows: Any) -> Any:
    """Add up 16 rows' sums, in float64."""
    return call(build, "llvm.vector.reduce.fadd.v16f64", DOUBLE, [DOUBLE(0.0), rows])
