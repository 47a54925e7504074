"""Letters as a graph must be told of them:  a token_pattern → classes of characters; lower case (T1, O8).

    X+, XX+, X{k,}, …    runs of k or more characters of the class X:  \\w, \\S, \\d, [a-z], [^…]
    \\bX{k,}\\b            runs of \\w, k or more, all of which are of the class X

Python lowers every character for itself, but for two: İ becomes i and a dot, and Σ is ς at the end of a word, which
is told from the cased letters before and behind it, signs within words (', ., ·, accents) set aside.
Classes are arrays of booleans over all code points, by Python's own tables, so that a graph and ``re`` agree on every
character. Cost: one scan of the 1,114,112 code points for a class, kept.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from functools import cache

import numpy as np

from separatrix.files.graph import OnnxExportError

POINTS = sys.maxunicode + 1
DOTTED, UNDOTTED = "İ", "i̇"  # what lower() makes of it: two characters
SIGMA, INNER, FINAL = "Σ", "σ", "ς"
_ATOM = r"(?:\\[wWsSdD]|\[\^?\]?(?:\\.|[^\]\\])*\])"
_RUNS = re.compile(rf"(?s:(?:\(\?u\))?(\\b)?({_ATOM}+)(?:(\+)|(\*)|\{{(\d+),\}})(\\b)?)")


@dataclass(frozen=True, eq=False)
class Runs:
    """Words are runs of ``least`` or more characters ``joined``, all of them ``member``: arrays over code points."""

    least: int
    member: np.ndarray
    joined: np.ndarray


@cache
def runs_of(pattern: str) -> Runs:
    r"""What a token_pattern finds, if that is runs of one class; refused otherwise. O(code points), kept.

    >>> found = runs_of(r"\w\w+")
    >>> found.least, [bool(found.member[ord(c)]) for c in "aß²_'"]
    (2, [True, True, True, True, False])
    """
    found = _RUNS.fullmatch(pattern)
    atoms = [] if found is None else re.findall(_ATOM, found[2], re.DOTALL)
    if found is None or len(set(atoms)) != 1:
        raise _no_runs(pattern)
    least = len(atoms) - 1 + (int(found[5]) if found[5] else int(found[3] is not None))
    member, word, bounds = members(atoms[0]), members(r"\w"), (bool(found[1]), bool(found[6]))
    if least < 1 or (any(bounds) and np.any(member & ~word)):
        raise _no_runs(pattern)
    if not any(bounds) or np.array_equal(member, word):
        return Runs(least, member, member)
    if not all(bounds):
        raise _no_runs(pattern)
    return Runs(least, member, word)


def _no_runs(pattern: str) -> OnnxExportError:
    return OnnxExportError(
        f"token_pattern {pattern!r} has no form in ONNX here: words must be runs of one class of characters, as "
        r"\w\w+, [a-z]+, \S+ or \b[a-z]{3,}\b"
    )


@cache
def members(atom: str) -> np.ndarray:
    r"""Which code points a class such as \w or [a-z] holds: (1,114,112,)."""
    out = np.zeros(POINTS, dtype=bool)
    out[[ord(c) for c in re.findall(atom, _every())]] = True
    return out


@cache
def _every() -> str:
    """All characters but surrogates, which no text in UTF-8 holds."""
    return "".join(chr(c) for c in range(POINTS) if not 0xD800 <= c < 0xE000)


@cache
def lowered() -> dict[str, str]:
    """The characters that lower() changes, alone, and into what; İ, which becomes two, is left out."""
    return {c: low for c in _every() if (low := c.lower()) != c and len(low) == 1}


@cache
def cased() -> dict[str, int]:
    """What stands beside Σ: 1 for cased letters, 2 for characters to be set aside; others are not told."""
    out = {}
    for c in _every():
        if f"a{SIGMA}{c}".lower()[1] == INNER:
            out[c] = 1
        elif f"a{SIGMA}{c}a".lower()[1] == INNER:
            out[c] = 2
    return out


def pattern_of(member: np.ndarray) -> str:
    r"""A class as ranges of code points, in the spelling of RE2.

    >>> pattern_of(members("[a-cx]"))
    '[\\x{61}-\\x{63}\\x{78}-\\x{78}]'
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[0], member.astype(np.int8), [0]])))
    pairs = zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
    return "[" + "".join(f"\\x{{{a:x}}}-\\x{{{b - 1:x}}}" for a, b in pairs) + "]"
