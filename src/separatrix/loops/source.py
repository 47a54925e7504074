"""What the code of a loop is made of:  one digest of the loop, of every loop it calls, and of the numbers they name.

    digest(loop)    of bytecode, constants, values of globals and ways of compiling, as they are in this process

It is read from the functions that are compiled, not from files: a file may be edited while a process that has read
it runs on, and what that process compiles must not be found under the edited file's name. An edited helper changes
the digest of the loops that call it, in whatever file they stand, and of no others. Cost: under a millisecond a loop.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from separatrix.loops.compiled import Instruction, Loop

SHAPE = 0xFF  # of a code's flags: what its arguments are, not how it was come by


class UnknownError(TypeError):
    """A loop names something that has no value to be told by."""


def digest(loop: Loop) -> str:
    """What the code of a loop is made of; "" where it names what cannot be told."""
    try:
        return hashlib.blake2b("\n".join(told(loop)).encode(), digest_size=16).hexdigest()
    except UnknownError:
        return ""


def told(loop: Loop) -> list[str]:
    """The same in words: a line for the loop, and for each function that it reaches."""
    lines: dict[str, str] = {}
    waiting: list[Loop | Instruction | FunctionType] = [loop]

    def value(found: Any) -> str:
        if isinstance(found, (Loop, Instruction, FunctionType)):
            waiting.append(found)
            return _name(found)
        return _value(found)

    while waiting:
        function = waiting.pop()
        name = _name(function)
        if name in lines:
            continue
        if isinstance(function, Instruction):
            from separatrix.loops import instructions

            if not instructions.TEXT:
                raise UnknownError(f"{instructions.__file__} cannot be read")
            lines[name] = f"{name} {instructions.TEXT!r}"
            continue
        body: Any = function.body if isinstance(function, Loop) else function
        options = sorted(f"{k}={_value(v)}" for k, v in getattr(function, "options", {}).items())
        lines[name] = ""  # it may call itself
        lines[name] = " ".join((name, *options, _defaults(body, value), _code(body.__code__, body, value)))
    return [lines[name] for name in sorted(lines)]


def _code(code: CodeType, body: Any, value: Callable[[Any], str]) -> str:
    known = body.__globals__
    called = [f"{name}={value(known[name])}" for name in code.co_names if name in known]
    constants = list(code.co_consts)
    if constants and isinstance(constants[0], str):
        constants[0] = None  # what the function says about itself
    parts = [_code(c, body, value) if isinstance(c, CodeType) else value(c) for c in constants]
    shape = (code.co_argcount, code.co_kwonlyargcount, code.co_flags & SHAPE, code.co_names, code.co_varnames)
    table = getattr(code, "co_exceptiontable", b"")
    return " ".join((str(shape), code.co_code.hex(), table.hex(), *called, *parts))


def _defaults(body: Any, value: Callable[[Any], str]) -> str:
    named = body.__kwdefaults__ or {}
    return value((body.__defaults__ or (), *(pair for pair in sorted(named.items()))))


def _value(found: Any) -> str:
    kind = type(found).__name__
    if found is None or isinstance(found, (bool, int, float, complex, str, bytes)):
        return f"{kind} {found!r}"
    if isinstance(found, (tuple, list)):
        return f"{kind} ({', '.join(map(_value, found))})"
    if isinstance(found, (set, frozenset)):
        return f"set ({', '.join(sorted(map(_value, found)))})"
    if isinstance(found, (np.generic, np.ndarray)):
        held = np.asarray(found)
        return f"{kind} {held.dtype.descr} {held.shape} {held.tobytes().hex()}"
    if isinstance(found, np.dtype):
        return f"{kind} {found.descr}"
    if isinstance(found, ModuleType):
        return f"module {found.__name__}"
    if isinstance(found, (type, BuiltinFunctionType, np.ufunc)):
        return f"{getattr(found, '__module__', '')}.{found.__name__}"
    raise UnknownError(f"{found!r} is a {kind}")


def _name(function: Any) -> str:
    kind = "" if isinstance(function, FunctionType) else f"{type(function).__name__.lower()} "
    return f"{kind}{function.__module__}.{function.__qualname__}"
