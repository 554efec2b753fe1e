"""Vectors of sixteen float32, and loops, as LLVM instructions.

LLVM splits the sixteen lanes into the registers of the processor.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

LANES = 16
Values = Sequence[Any]

FLOAT = ir.FloatType()
DOUBLE = ir.DoubleType()
INDEX = ir.IntType(64)
_LANE = ir.IntType(32)
_ZERO = INDEX(0)
ROWS = ir.VectorType(FLOAT, LANES)
FAST = ("fast",)  # sums may be regrouped, and quotients may become products with a reciprocal


@contextmanager
def count(build: Any, stop: Any, *, start: Any = _ZERO, step: int = 1) -> Iterator[Any]:
    """Emit a loop over the numbers from `start` to below `stop`, whose body is built within the context."""
    before, head = build.block, build.append_basic_block()
    body, after = build.append_basic_block(), build.append_basic_block()
    build.branch(head)
    build.position_at_end(head)
    number = build.phi(INDEX)
    number.add_incoming(start, before)
    build.cbranch(build.icmp_signed("<", number, stop), body, after)
    build.position_at_end(body)
    yield number
    number.add_incoming(build.add(number, INDEX(step)), build.block)
    build.branch(head)
    build.position_at_end(after)


def smallest(build: Any, left: Any, right: Any) -> Any:
    """Return the smaller of two whole numbers."""
    return build.select(build.icmp_signed("<", left, right), left, right)


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
    first = build.insert_element(none, number, _LANE(0))
    return build.shuffle_vector(first, none, ir.Constant(ir.VectorType(_LANE, LANES), [0] * LANES))


def call(build: Any, name: str, result: Any, arguments: Values) -> Any:
    """Call one of LLVM's own functions."""
    function = build.module.globals.get(name)
    if function is None:
        kind = ir.FunctionType(result, [argument.type for argument in arguments])
        function = ir.Function(build.module, kind, name)
    return build.call(function, arguments, fastmath=FAST)


def multiply_add(build: Any, left: Any, right: Any, more: Any) -> Any:
    """Return left x right + more, in one step where the processor has one."""
    return call(build, "llvm.fmuladd.v16f32", ROWS, [left, right, more])


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
                mask = ir.Constant(ir.VectorType(_LANE, LANES), lanes)
                table[at] = build.shuffle_vector(upper, lower, mask)
        block //= 2
    return table
