"""What loops say in LLVM's own words: a function here for each ``@instruction``, of the same name.

What it means is the Python body where it is declared (:class:`separatrix.loops.compiled.Instruction`); the tests hold
one to the other. Imported by :mod:`separatrix.loops.dispatch` when a loop that uses one is first called.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from llvmlite import ir
from numba import extending, types
from numba.core import cgutils

from separatrix.loops.compiled import LANES

try:
    TEXT = Path(__file__).read_bytes()  # what code made with them is told by (source.py)
except OSError:
    TEXT = b""
intrinsic: Any = extending.intrinsic  # what it makes of a function is called without the context


@intrinsic
def _lowest(typing, word):
    def code(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), code


@intrinsic
def _bits(context, number):
    wide = number.bitwidth
    whole = types.int32 if wide == 32 else types.int64
    return whole(number), lambda c, builder, s, args: builder.bitcast(args[0], ir.IntType(wide))


@intrinsic
def _number(context, bits):
    kind, real = (types.float32, ir.FloatType()) if bits.bitwidth == 32 else (types.float64, ir.DoubleType())
    return kind(bits), lambda c, builder, s, args: builder.bitcast(args[0], real)


def _extreme(name: str) -> Any:
    """Of two numbers that are no NaN: so said, a loop that keeps the largest becomes vector instructions."""

    def intrinsics(context: Any, a: Any, b: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = arguments[0].type
            function = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(kind, [kind, kind]), f"llvm.{name}.f{a.bitwidth}"
            )
            return builder.call(function, arguments, fastmath=("nnan", "nsz"))

        return a(a, a), code

    return intrinsic(intrinsics)


larger, smaller = _extreme("maxnum"), _extreme("minnum")


@intrinsic
def prefetch(typingctx, array, at):
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), cgutils.voidptr_t)
        word = ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, word, word, word]),
            "llvm.prefetch.p0i8",
        )
        builder.call(function, [address, word(0), word(2), word(1)])  # to read, into the second-level cache
        return context.get_dummy_value()

    return types.none(array, types.intp), code


@intrinsic
def _step(typingctx, X, now, following, w, whole, move):
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, now, following, _, whole, move = arguments
        cells, weights = (
            context.make_array(signature.args[k])(context, builder, arguments[k]).data for k in (0, 3)
        )
        double, flags = ir.DoubleType(), ("reassoc", "contract")
        vector, row = ir.VectorType(double, LANES), ir.VectorType(cells.type.pointee, LANES)
        none = ir.Constant(vector, [0.0] * LANES)

        def place(data: Any, at: Any, kind: Any) -> Any:
            return builder.bitcast(builder.gep(data, [at]), kind.as_pointer())

        def read(at: Any) -> Any:
            found = builder.load(place(cells, at, row), align=signature.args[0].dtype.bitwidth // 8)
            return found if row == vector else builder.fpext(found, vector)

        def plus(total: Any, a: Any, b: Any) -> Any:
            return builder.fadd(total, builder.fmul(a, b, flags=flags), flags=flags)

        moves = none
        for lane in range(LANES):
            moves = builder.insert_element(moves, move, ir.IntType(32)(lane))
        score, product = (cgutils.alloca_once_value(builder, none) for _ in range(2))
        steps = cgutils.for_range_slice(builder, whole.type(0), whole, whole.type(LANES), whole.type)
        with steps as (j, _):
            x, after = read(builder.add(now, j)), read(builder.add(following, j))
            at = place(weights, j, vector)
            before = builder.load(at, align=8)
            builder.store(plus(builder.load(score), before, after), score)
            builder.store(plus(builder.load(product), x, after), product)
            builder.store(plus(before, moves, x), at, align=8)
        add = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(double, [double, vector]), f"llvm.vector.reduce.fadd.v{LANES}f64"
        )
        totals = [
            builder.call(add, [double(-0.0), builder.load(v)], fastmath=flags) for v in (score, product)
        ]
        return context.make_tuple(builder, signature.return_type, totals)

    at, real = types.intp, types.float64
    return types.UniTuple(real, 2)(X, at, at, w, at, real), code
