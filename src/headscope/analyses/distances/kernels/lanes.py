"""Sixteen rows at a time: the two inner loops of the divergence, written as LLVM instructions for numba.

Left to itself the compiler takes half the vector width and finishes one pair before it begins the next, so that
each step waits for the last. Here an instruction handles sixteen rows, and six pairs go abreast.

Features of a head and key are three times 16 floats, a lane a row: the square root of the smoothed weight, its
fourth root, and the fourth root's reciprocal.
"""

from collections.abc import Callable
from typing import Any, no_type_check

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from headscope.analyses.distances.kernels.vectors import (
    DOUBLE,
    FAST,
    FLOAT,
    LANES,
    ROWS,
    Values,
    call,
    data_of,
    load,
    multiply_add,
    smaller,
    splat,
    store,
    transposed,
)

ABREAST = 6
FEATURES = 3 * LANES
KEYS = 16  # a chunk
_BLOCK = 6  # heads that are worked on together


def compiled(function: Any) -> Any:
    """Compile a function when it is first called; the result is kept on disk where there is a place for it.

    numba throws it away when the file with the function changes, so what it is made of stands in one file.
    """
    try:
        return njit(nogil=True, cache=True)(function)
    except RuntimeError:  # no folder that a cache can be written to
        return njit(nogil=True)(function)


@intrinsic
def add_pairs(
    typing: Any, features: Any, one: Any, others: Any, pitch: Any, keys: Any, fit: Any, sums: Any, place: Any
) -> tuple[Any, Callable[..., Any]]:
    """Add the divergences of one head from six others, over some keys, to six sums of 16 rows.

    Args (in the compiled program):
        features: of all heads, float32; a head's keys lie one behind the other.
        one, others: where the one head's features begin, and those of the first of the six.
        pitch: floats from one head to the next.
        keys: how many.
        fit: shift and rest of the polynomial (`js_polynomial.Fit`), a tuple of float32.
        sums: float32, six times 16 from `place` on.
    """

    def generate(context: Any, build: Any, signature: Any, arguments: Values) -> Any:
        features, one, others, pitch, keys, fit, sums, place = arguments
        features = data_of(context, build, signature.args[0], features)
        sums = data_of(context, build, signature.args[6], sums)
        width = one.type
        six = range(ABREAST)
        shift, *powers = (splat(build, build.extract_value(fit, i)) for i in range(signature.args[5].count))
        places = [build.add(place, width(LANES * i)) for i in six]
        begun = [load(build, sums, at) for at in places]
        before, loop, after = build.block, build.append_basic_block(), build.append_basic_block()
        build.branch(loop)
        build.position_at_end(loop)
        key = build.phi(width)
        key.add_incoming(width(0), before)
        running = [build.phi(ROWS) for _ in six]
        for total, first in zip(running, begun):
            total.add_incoming(first, before)

        offset = build.mul(key, width(FEATURES))
        own = build.add(one, offset)
        other = [build.add(build.add(others, offset), build.mul(pitch, width(i))) for i in six]

        def feature(at: Any, number: int) -> Any:
            return load(build, features, build.add(at, width(LANES * number)))

        # Step by step for all six, not pair by pair: the processor then always has something ready to do.
        fourth, inverse = feature(own, 1), feature(own, 2)
        up = [multiply_add(build, fourth, feature(at, 2), shift) for at in other]
        down = [multiply_add(build, inverse, feature(at, 1), shift) for at in other]
        ratio = [smaller(build, a, b) for a, b in zip(up, down)]
        value = ratio
        for power in reversed(powers):
            value = [multiply_add(build, v, r, power) for v, r in zip(value, ratio)]
        root = feature(own, 0)
        apart = [build.fsub(root, feature(at, 0), flags=FAST) for at in other]
        square = [build.fmul(a, a, flags=FAST) for a in apart]
        grown = [multiply_add(build, s, v, total) for s, v, total in zip(square, value, running)]

        following = build.add(key, width(1))
        key.add_incoming(following, loop)
        for total, new in zip(running, grown):
            total.add_incoming(new, loop)
        build.cbranch(build.icmp_signed("<", following, keys), loop, after)
        build.position_at_end(after)
        for new, at in zip(grown, places):
            store(build, new, sums, at)
        return context.get_dummy_value()

    return types.void(features, one, others, pitch, keys, fit, sums, place), generate


@intrinsic
def write_features(
    typing: Any, address: Any, stride: Any, scale: Any, least: Any, features: Any, place: Any
) -> tuple[Any, Callable[..., Any]]:
    """Turn 16 rows x 16 keys of weights into features of 16 keys, a lane a row.

    Args (in the compiled program):
        address: of the first weight, float32.
        stride: floats from one row to the next.
        scale, least: smoothing: weight x scale + least.
        features: written from `place` on.
    """

    def generate(context: Any, build: Any, signature: Any, arguments: Values) -> Any:
        address, stride, scale, least, features, place = arguments
        features = data_of(context, build, signature.args[4], features)
        weights = build.inttoptr(address, FLOAT.as_pointer())
        width = place.type
        scale, least = splat(build, scale), splat(build, least)
        rows = [load(build, weights, build.mul(stride, width(row))) for row in range(LANES)]
        for key, weight in enumerate(transposed(build, rows)):
            smooth = multiply_add(build, weight, scale, least)
            root = call(build, "llvm.sqrt.v16f32", ROWS, [smooth])
            fourth = call(build, "llvm.sqrt.v16f32", ROWS, [root])
            inverse = build.fdiv(ir.Constant(ROWS, [ir.Constant(FLOAT, 1.0)] * LANES), fourth, flags=FAST)
            for number, value in enumerate((root, fourth, inverse)):
                at = build.add(place, width(FEATURES * key + LANES * number))
                store(build, value, features, at)
        return context.get_dummy_value()

    return types.void(address, stride, scale, least, features, place), generate


@intrinsic
def total_rows(typing: Any, sums: Any, place: Any, squared: Any) -> tuple[Any, Callable[..., Any]]:
    """Add up the 16 rows' sums at a place, or their squares, in float64."""

    def generate(context: Any, build: Any, signature: Any, arguments: Values) -> Any:
        sums, place, squared = arguments
        sums = data_of(context, build, signature.args[0], sums)
        wide = build.fpext(load(build, sums, place), ir.VectorType(DOUBLE, LANES))
        wide = build.select(squared, build.fmul(wide, wide), wide)
        return call(build, "llvm.vector.reduce.fadd.v16f64", DOUBLE, [DOUBLE(0.0), wide])

    return types.float64(sums, place, types.boolean), generate


@intrinsic
def float_at(typing: Any, address: Any) -> tuple[Any, Callable[..., Any]]:
    """Read the float32 at an address."""

    def generate(context: Any, build: Any, signature: Any, arguments: Values) -> Any:
        return build.load(build.inttoptr(arguments[0], FLOAT.as_pointer()), align=4)

    return types.float32(address), generate


@compiled
@no_type_check
def sixteen_rows(
    layers, strides, heads, first, rows, keys, scale, least, fit, features, sums, corner, values, squares
):
    """Sum the divergences of up to 16 rows for each head and its partners.

    Args:
        layers: address of each layer's weights, float32.
        strides: floats from head to head and from row to row, `[layer, 2]`; keys lie side by side.
        heads: in a layer.
        first, rows: the rows.
        keys: in each row.
        scale, least: of smoothing.
        fit: shift and rest of the polynomial; sums are to be multiplied by its lead.
        features, sums, corner: see `Scratch`.
        values, squares: where sums and sums of squares go, float64, `[head x partner]`.
    """
    total = len(layers) * heads
    paired = len(values) // total
    pitch = KEYS * FEATURES
    sums[:] = 0
    corner[:] = 0
    for start in range(0, keys, KEYS):
        number = min(KEYS, keys - start)
        for head in range(total):
            layer = head // heads
            step = strides[layer, 1]
            offset = head % heads * strides[layer, 0] + first * step + start
            address = layers[layer] + 4 * offset
            if rows == LANES and number == KEYS:
                write_features(address, step, scale, least, features, head * pitch)
            else:
                # At the edge; rows that are not there stay 0 in every head and add nothing.
                for row in range(rows):
                    for key in range(number):
                        corner[row * KEYS + key] = float_at(address + 4 * (row * step + key))
                write_features(corner.ctypes.data, KEYS, scale, least, features, head * pitch)
        # Heads stand in a circle: the first once more behind the last, for the run that goes across.
        for more in range((ABREAST - 1) * pitch):
            features[total * pitch + more] = features[more]
        for block in range(0, total, _BLOCK):
            for run in range(0, paired, ABREAST):
                for head in range(block, min(total, block + _BLOCK)):
                    other = (head + run + 1) % total
                    place = (head * paired + run) * LANES
                    add_pairs(features, head * pitch, other * pitch, pitch, number, fit, sums, place)
    for pair in range(len(values)):
        values[pair] = total_rows(sums, pair * LANES, False)
        squares[pair] = total_rows(sums, pair * LANES, True)
