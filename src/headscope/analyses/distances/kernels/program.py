"""The program that sums divergences, compiled by LLVM for the host's processor when it is first needed.

Every process compiles it again, which takes a fraction of a second, because a program cached on disk would run any
code that somebody else wrote there.
"""

import ctypes
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from headscope.analyses.distances.kernels.lanes import ABREAST, FEATURES, KEYS, add_pairs, emit_features, total_rows
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

_BLOCK = 6  # heads that are processed together
_PITCH = KEYS * FEATURES  # floats from a head's features to the next head's
_FLOATS, _DOUBLES, _INDICES = (
    np.ctypeslib.ndpointer(kind, flags="C_CONTIGUOUS") for kind in (np.float32, np.float64, np.int64)
)
_KINDS: dict[str, tuple[Any, Any]] = {
    **dict.fromkeys(("layers", "strides"), (INDEX.as_pointer(), _INDICES)),
    **dict.fromkeys(("total", "heads", "paired", "first", "rows", "keys"), (INDEX, ctypes.c_int64)),
    **dict.fromkeys(("scale", "least"), (FLOAT, ctypes.c_float)),
    **dict.fromkeys(("fit", "features", "sums", "corner"), (FLOAT.as_pointer(), _FLOATS)),
    **dict.fromkeys(("values", "squares"), (DOUBLE.as_pointer(), _DOUBLES)),
}


@cache
def sixteen_rows(powers: int) -> Any:
    """Return a function that sums the divergences of up to 16 rows for each head and its partners.

    It releases the GIL while it runs. Its arguments, in this order:

        layers: address of each layer's weights, float32.
        strides: floats from head to head and from row to row, `[layer, 2]`; keys lie side by side.
        total: number of heads of all layers.
        heads: number of heads in a layer.
        paired: number of partners of each head.
        first, rows: index of the first row, and number of rows.
        keys: number of keys in each row.
        scale, least: coefficients of the smoothing, weight x scale + least.
        fit: shift and rest of the polynomial; sums are to be multiplied by its lead.
        features, sums, corner: see `Scratch`.
        values, squares: addresses of the sums and sums of squares, float64, `[head x partner]`.

    Args:
        powers: number of values in `fit`.
    """
    engine = llvm.create_mcjit_compiler(optimized(powers), _machine())
    engine.finalize_object()
    kind = ctypes.CFUNCTYPE(None, *(each for _, each in _KINDS.values()))
    function = kind(engine.get_function_address("sixteen_rows"))
    function.engine = engine  # type: ignore[attr-defined]  # the code exists as long as the engine does
    return function


def assembly(powers: int) -> str:
    """Return the compiled program as text."""
    return str(_machine().emit_assembly(optimized(powers)))


def optimized(powers: int) -> Any:
    """Return the program as LLVM has optimized it."""
    module = llvm.parse_assembly(str(_module(powers)))
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


def _module(powers: int) -> ir.Module:
    """Return the program: loops over heads and chunks of keys; the inner loops are in `lanes`."""
    module = ir.Module("headscope")
    kind = ir.FunctionType(ir.VoidType(), [each for each, _ in _KINDS.values()])
    function = ir.Function(module, kind, "sixteen_rows")
    for argument, name in zip(function.args, _KINDS):
        argument.name = name
    arguments = dict(zip(_KINDS, function.args))
    build: Any = ir.IRBuilder(function.append_basic_block())
    arguments["fit"] = [splat(build, build.load(build.gep(arguments["fit"], [INDEX(at)]))) for at in range(powers)]
    arguments["scale"], arguments["least"] = (splat(build, arguments["scale"]), splat(build, arguments["least"]))
    pairs = build.mul(arguments["total"], arguments["paired"])
    none = ir.Constant(ROWS, None)
    with count(build, pairs) as pair:
        store(build, none, arguments["sums"], build.mul(pair, INDEX(LANES)))
    with count(build, INDEX(KEYS)) as row:
        store(build, none, arguments["corner"], build.mul(row, INDEX(LANES)))
    with count(build, arguments["keys"], step=KEYS) as start:
        number = smallest(build, INDEX(KEYS), build.sub(arguments["keys"], start))
        with count(build, arguments["total"]) as head:
            _emit_head(build, arguments, head, start, number)
        _close_circle(build, arguments)
        _add_all_pairs(build, arguments, number)
    with count(build, pairs) as pair:
        wide = build.fpext(load(build, arguments["sums"], build.mul(pair, INDEX(LANES))), ir.VectorType(DOUBLE, LANES))
        build.store(total_rows(build, wide), build.gep(arguments["values"], [pair]))
        build.store(total_rows(build, build.fmul(wide, wide)), build.gep(arguments["squares"], [pair]))
    build.ret_void()
    return module


def _emit_head(build: Any, arguments: dict[str, Any], head: Any, start: Any, number: Any) -> None:
    """Emit code for a head's features of `number` keys from `start` on."""
    layer, head_of_layer = build.sdiv(head, arguments["heads"]), build.srem(head, arguments["heads"])
    stride = build.mul(layer, INDEX(2))
    across, step = (build.load(build.gep(arguments["strides"], [build.add(stride, INDEX(side))])) for side in (0, 1))
    offset = build.add(build.mul(head_of_layer, across), build.mul(arguments["first"], step))
    address = build.inttoptr(build.load(build.gep(arguments["layers"], [layer])), FLOAT.as_pointer())
    weights = build.gep(address, [build.add(offset, start)])
    position = build.mul(head, INDEX(_PITCH))
    smoothing = arguments["scale"], arguments["least"]
    whole = build.and_(
        build.icmp_signed("==", arguments["rows"], INDEX(LANES)), build.icmp_signed("==", number, INDEX(KEYS))
    )
    with build.if_else(whole) as (inside, at_the_edge):
        with inside:
            emit_features(build, weights, step, *smoothing, arguments["features"], position)
        with at_the_edge:
            # Missing rows are 0 in every head and add nothing.
            with count(build, arguments["rows"]) as row, count(build, number) as key:
                weight = build.load(build.gep(weights, [build.add(build.mul(row, step), key)]))
                to = build.add(build.mul(row, INDEX(KEYS)), key)
                build.store(weight, build.gep(arguments["corner"], [to]))
            emit_features(build, arguments["corner"], INDEX(KEYS), *smoothing, arguments["features"], position)


def _close_circle(build: Any, arguments: dict[str, Any]) -> None:
    """Emit code that repeats the first heads behind the last, which closes the circle of heads."""
    features, end = arguments["features"], build.mul(arguments["total"], INDEX(_PITCH))
    with count(build, INDEX((ABREAST - 1) * _PITCH), step=LANES) as more:
        store(build, load(build, features, more), features, build.add(end, more))


def _add_all_pairs(build: Any, arguments: dict[str, Any], number: Any) -> None:
    """Emit code that adds the divergences over `number` keys of each head from its partners."""
    total, paired = arguments["total"], arguments["paired"]
    with count(build, total, step=_BLOCK) as block, count(build, paired, step=ABREAST) as run:
        end = smallest(build, total, build.add(block, INDEX(_BLOCK)))
        with count(build, end, start=block) as head:
            other = build.srem(build.add(build.add(head, run), INDEX(1)), total)
            position = build.mul(build.add(build.mul(head, paired), run), INDEX(LANES))
            head_start, partner_start = (build.mul(index, INDEX(_PITCH)) for index in (head, other))
            features, fit, sums = (arguments[name] for name in ("features", "fit", "sums"))
            add_pairs(build, features, head_start, partner_start, _PITCH, number, fit, sums, position)
