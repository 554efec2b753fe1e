"""The program that sums divergences, compiled by LLVM for the processor at hand when it is first needed.

It is compiled in every process anew, which takes a fraction of a second: a compiled program kept on disk would be
code that whoever can write there chooses.
"""

import ctypes
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from headscope.analyses.distances.kernels.lanes import (
    ABREAST,
    FEATURES,
    KEYS,
    add_pairs,
    total_rows,
    write_features,
)
from headscope.analyses.distances.kernels.vectors import (
    DOUBLE,
    FLOAT,
    INDEX,
    LANES,
    ROWS,
    count,
    load,
    smallest,
    splat,
    store,
)

_BLOCK = 6  # heads that are worked on together
_PITCH = KEYS * FEATURES  # floats from a head's features to the next head's
_FLOATS, _DOUBLES, _INDICES = (
    np.ctypeslib.ndpointer(kind, flags="C_CONTIGUOUS") for kind in (np.float32, np.float64, np.int64)
)
_KINDS: dict[str, tuple[Any, Any]] = {
    "layers": (INDEX.as_pointer(), _INDICES),
    "strides": (INDEX.as_pointer(), _INDICES),
    "total": (INDEX, ctypes.c_int64),
    "heads": (INDEX, ctypes.c_int64),
    "paired": (INDEX, ctypes.c_int64),
    "first": (INDEX, ctypes.c_int64),
    "rows": (INDEX, ctypes.c_int64),
    "keys": (INDEX, ctypes.c_int64),
    "scale": (FLOAT, ctypes.c_float),
    "least": (FLOAT, ctypes.c_float),
    "fit": (FLOAT.as_pointer(), _FLOATS),
    "features": (FLOAT.as_pointer(), _FLOATS),
    "sums": (FLOAT.as_pointer(), _FLOATS),
    "corner": (FLOAT.as_pointer(), _FLOATS),
    "values": (DOUBLE.as_pointer(), _DOUBLES),
    "squares": (DOUBLE.as_pointer(), _DOUBLES),
}


@cache
def sixteen_rows(powers: int) -> Any:
    """Return a function that sums the divergences of up to 16 rows for each head and its partners.

    It lets other threads run meanwhile. Its arguments, in this order:

        layers: address of each layer's weights, float32.
        strides: floats from head to head and from row to row, `[layer, 2]`; keys lie side by side.
        total: heads of all layers.
        heads: in a layer.
        paired: heads that each is paired with.
        first, rows: the rows.
        keys: in each row.
        scale, least: of smoothing.
        fit: shift and rest of the polynomial; sums are to be multiplied by its lead.
        features, sums, corner: see `Scratch`.
        values, squares: where sums and sums of squares go, float64, `[head x partner]`.

    Args:
        powers: how many numbers `fit` holds.
    """
    engine = llvm.create_mcjit_compiler(optimized(powers), _machine())
    engine.finalize_object()
    kind = ctypes.CFUNCTYPE(None, *(each for _, each in _KINDS.values()))
    function = kind(engine.get_function_address("sixteen_rows"))
    function.engine = engine  # type: ignore[attr-defined]  # the code lives as long as this
    return function


def assembly(powers: int) -> str:
    """Return the compiled program as text."""
    return str(_machine().emit_assembly(optimized(powers)))


def optimized(powers: int) -> Any:
    """Return the program as LLVM has optimized it."""
    module = llvm.parse_assembly(str(_written(powers)))
    module.verify()
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    passes = llvm.create_pass_builder(_machine(), tuning)
    passes.getModulePassManager().run(module, passes)
    return module


def _machine() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3, jit=True
    )


def _written(powers: int) -> ir.Module:
    """Write the program: heads and chunks of keys; its inner loops are in `lanes`."""
    module = ir.Module("headscope")
    kind = ir.FunctionType(ir.VoidType(), [each for each, _ in _KINDS.values()])
    function = ir.Function(module, kind, "sixteen_rows")
    for argument, name in zip(function.args, _KINDS):
        argument.name = name
    given = dict(zip(_KINDS, function.args))
    build: Any = ir.IRBuilder(function.append_basic_block())
    given["fit"] = [splat(build, build.load(build.gep(given["fit"], [INDEX(at)]))) for at in range(powers)]
    given["scale"], given["least"] = splat(build, given["scale"]), splat(build, given["least"])
    pairs = build.mul(given["total"], given["paired"])
    none = ir.Constant(ROWS, None)
    with count(build, pairs) as pair:
        store(build, none, given["sums"], build.mul(pair, INDEX(LANES)))
    with count(build, INDEX(KEYS)) as row:
        store(build, none, given["corner"], build.mul(row, INDEX(LANES)))
    with count(build, given["keys"], step=KEYS) as start:
        number = smallest(build, INDEX(KEYS), build.sub(given["keys"], start))
        with count(build, given["total"]) as head:
            _write_head(build, given, head, start, number)
        _close_circle(build, given)
        _add_all_pairs(build, given, number)
    with count(build, pairs) as pair:
        wide = build.fpext(
            load(build, given["sums"], build.mul(pair, INDEX(LANES))), ir.VectorType(DOUBLE, LANES)
        )
        build.store(total_rows(build, wide), build.gep(given["values"], [pair]))
        build.store(total_rows(build, build.fmul(wide, wide)), build.gep(given["squares"], [pair]))
    build.ret_void()
    return module


def _write_head(build: Any, given: dict[str, Any], head: Any, start: Any, number: Any) -> None:
    """Write a head's features of `number` keys from `start` on."""
    layer, head_of_layer = build.sdiv(head, given["heads"]), build.srem(head, given["heads"])
    stride = build.mul(layer, INDEX(2))
    across, step = (
        build.load(build.gep(given["strides"], [build.add(stride, INDEX(side))])) for side in (0, 1)
    )
    offset = build.add(build.mul(head_of_layer, across), build.mul(given["first"], step))
    address = build.inttoptr(build.load(build.gep(given["layers"], [layer])), FLOAT.as_pointer())
    weights = build.gep(address, [build.add(offset, start)])
    place = build.mul(head, INDEX(_PITCH))
    smoothing = given["scale"], given["least"]
    whole = build.and_(
        build.icmp_signed("==", given["rows"], INDEX(LANES)), build.icmp_signed("==", number, INDEX(KEYS))
    )
    with build.if_else(whole) as (inside, at_the_edge):
        with inside:
            write_features(build, weights, step, *smoothing, given["features"], place)
        with at_the_edge:
            # Rows that are not there stay 0 in every head and add nothing.
            with count(build, given["rows"]) as row, count(build, number) as key:
                weight = build.load(build.gep(weights, [build.add(build.mul(row, step), key)]))
                to = build.add(build.mul(row, INDEX(KEYS)), key)
                build.store(weight, build.gep(given["corner"], [to]))
            write_features(build, given["corner"], INDEX(KEYS), *smoothing, given["features"], place)


def _close_circle(build: Any, given: dict[str, Any]) -> None:
    """Write the first heads once more behind the last, for the run that goes across: heads stand in a circle."""
    features, end = given["features"], build.mul(given["total"], INDEX(_PITCH))
    with count(build, INDEX((ABREAST - 1) * _PITCH), step=LANES) as more:
        store(build, load(build, features, more), features, build.add(end, more))


def _add_all_pairs(build: Any, given: dict[str, Any], number: Any) -> None:
    """Add the divergences over `number` keys of each head from its partners."""
    total, paired = given["total"], given["paired"]
    with count(build, total, step=_BLOCK) as block, count(build, paired, step=ABREAST) as run:
        end = smallest(build, total, build.add(block, INDEX(_BLOCK)))
        with count(build, end, start=block) as head:
            other = build.srem(build.add(build.add(head, run), INDEX(1)), total)
            place = build.mul(build.add(build.mul(head, paired), run), INDEX(LANES))
            one, others = (build.mul(each, INDEX(_PITCH)) for each in (head, other))
            add_pairs(
                build, given["features"], one, others, _PITCH, number, given["fit"], given["sums"], place
            )
