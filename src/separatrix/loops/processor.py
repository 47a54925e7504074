"""Which processor code is compiled for:  a baseline, the same on every machine of its kind, or the one at hand.

    x86-64     x86-64-v3: AVX2, FMA and what came with them, 2013 and later, without AVX-512
    ARM        any of 64 bits: NEON

Code for the baseline runs wherever Numba finds those features, unless NUMBA_CPU_NAME asks for another processor.
"""

from __future__ import annotations

import os
import platform

# LLVM's name of the processor that loops are built for, what one must have to run them, and what is said to LLVM
# beside the name, for a name alone would keep what only the building machine has.
X86, ARM = ("x86-64-v3", "avx2 bmi bmi2 f16c fma lzcnt movbe", "-avx512f"), ("generic", "neon", "+neon")
BASELINE, FEATURES, SAID = {"x86_64": X86, "AMD64": X86, "aarch64": ARM, "arm64": ARM}.get(
    platform.machine(), ("", "", "")
)


def runs_baseline(processor: str, named: str | None = None) -> bool:
    """Whether code for the baseline runs where Numba compiles for such a processor (its name and its features).

    named : the processor that NUMBA_CPU_NAME asks for, if any: a name that is not the baseline's means another

    >>> runs_baseline("x86-64-v2 -avx2") or runs_baseline("generic ")
    False
    """
    return bool(BASELINE) and not another(named) and not lacking(processor)


def another(named: str | None = None) -> str:
    """The processor that NUMBA_CPU_NAME asks for, where it is neither the one at hand nor the baseline."""
    if named is None:
        named = os.environ.get("NUMBA_CPU_NAME", "")
    return "" if named in ("", "host", BASELINE) else named


def lacking(processor: str) -> tuple[str, ...]:
    """Features of the baseline that a processor (its name and its features) does not have."""
    name, _, features = processor.partition(" ")
    said, asked = features.split(","), FEATURES.split()
    if name == BASELINE:  # has them by its name, unless one is taken away: the machine's own stand beside it
        return tuple(word for word in asked if f"-{word}" in said)
    return tuple(word for word in asked if f"+{word}" not in said)
