"""Values of sixteen float32, as LLVM instructions that numba compiles for the processor at hand.

LLVM cuts the sixteen lanes to what the processor has.
"""

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils

LANES = 16
Values = Sequence[Any]

FLOAT = ir.FloatType()
DOUBLE = ir.DoubleType()
_INDEX = ir.IntType(32)
ROWS = ir.VectorType(FLOAT, LANES)
FAST = ("fast",)  # sums may be regrouped, quotients be products with a reciprocal


def _at(build: Any, base: Any, offset: Any) -> Any:
    return build.bitcast(build.gep(base, [offset]), ROWS.as_pointer())


def load(build: Any, base: Any, offset: Any) -> Any:
    """Read sixteen floats, from an offset on."""
    return build.load(_at(build, base, offset), align=4)


def store(build: Any, value: Any, base: Any, offset: Any) -> None:
    """Write sixteen floats, from an offset on."""
    build.store(value, _at(build, base, offset), align=4)


def splat(build: Any, number: Any) -> Any:
    """Put a number into every lane."""
    none = ir.Constant(ROWS, ir.Undefined)
    first = build.insert_element(none, number, _INDEX(0))
    return build.shuffle_vector(first, none, ir.Constant(ir.VectorType(_INDEX, LANES), [0] * LANES))


def call(build: Any, name: str, result: Any, arguments: Values, *, fast: bool = True) -> Any:
    """Call one of LLVM's own functions."""
    kinds = [argument.type for argument in arguments]
    known: Any = cgutils  # which has no types
    function = known.get_or_insert_function(build.module, ir.FunctionType(result, kinds), name)
    return build.call(function, arguments, fastmath=FAST if fast else ())


def multiply_add(build: Any, left: Any, right: Any, more: Any) -> Any:
    """Return left x right + more, in one step where the processor has one."""
    return call(build, "llvm.fmuladd.v16f32", ROWS, [left, right, more])


def data_of(context: Any, build: Any, kind: Any, array: Any) -> Any:
    """Return the address of a numba array's first element."""
    return context.make_array(kind)(context, build, array).data


def smaller(build: Any, left: Any, right: Any) -> Any:
    """Return the smaller of two, lane by lane."""
    return build.select(build.fcmp_ordered("<", left, right, flags=FAST), left, right)


def transposed(build: Any, rows: Sequence[Any]) -> Values:
    """Exchange rows and columns of 16 vectors of 16: in four rounds, halves of ever smaller blocks change places."""
    table = list(rows)
    block = LANES // 2
    while block:
        for row in range(LANES):
            if row & block:
                continue
            upper, lower = table[row], table[row + block]
            left = [lane if not lane & block else LANES + lane - block for lane in range(LANES)]
            right = [lane + block if not lane & block else LANES + lane for lane in range(LANES)]
            for at, lanes in ((row, left), (row + block, right)):
                mask = ir.Constant(ir.VectorType(_INDEX, LANES), lanes)
                table[at] = build.shuffle_vector(upper, lower, mask)
        block //= 2
    return table
