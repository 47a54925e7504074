"""What goes wrong, as one sentence with a way out, and an exit code (row O4).

    0  done
    1  the data or the model cannot be used
    2  the command was not understood
    3  compare: nothing but the classes' shares could be fitted in the time
    130  interrupted by Ctrl-C; what was finished is written

A stack trace is shown only where the environment says SEPARATRIX_DEBUG=1.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import traceback
from collections.abc import Callable
from difflib import get_close_matches

from separatrix.core.words import and_more

OK, UNUSABLE, USAGE, NOTHING, INTERRUPTED = 0, 1, 2, 3, 130
# What the library's sentences call by Python's names, and what it is called here.
SPOKEN = (
    ("say what the columns are by kinds=", "say what the columns are by --kinds column=kind"),
    ("say what they are by kinds=", "say what they are by --kinds column=kind"),
    ("kinds names", "--kinds names"),
    ("leave it out of kinds", "leave it out of --kinds"),
    ("header=False", "--no-header"),
    ("header=True", "--header"),
    ("delimiter=", "--delimiter "),
    ("or give {name: estimator}", "see separatrix compare --help"),
    ("leave it out of models", "leave it out of --models"),
    ("models names", "--models names"),
    ("or read it piece by piece (read_chunks)", "or give part of it"),
    ("read it piece by piece (read_chunks)", "give part of it"),
    ("or leave the plan out", "or leave --plan out"),
    ("or give cv", "or fit one model by separatrix fit, which needs no folds"),
)
ONE_KIND = re.compile(r"kinds=\{(['\"])(.*?)\1: '(\w+)'\}")


class AppError(Exception):
    """A sentence for the user, and the exit code.

    >>> raise AppError("iris.csv: no rows; give a table with rows")
    Traceback (most recent call last):
        ...
    separatrix.app.errors.AppError: iris.csv: no rows; give a table with rows
    """

    code = UNUSABLE


class UsageError(AppError):
    """A command that cannot be understood: exit code 2."""

    code = USAGE


def unknown(what: str, name: str, known: list[str], most: int = 30) -> str:
    """The sentence for a name nobody knows.

    >>> unknown("model", "logistc", ["logistic", "lda"])
    "model 'logistc' is unknown (did you mean 'logistic'?); there are logistic, lda"
    """
    near = get_close_matches(name, known, 1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return f"{what} {name!r} is unknown{hint}; there are {and_more(known, most)}"


def spoken(sentence: str) -> str:
    """A sentence of the library with the command line's names, on one line.

    >>> spoken("no column is left; say what they are by kinds=")
    'no column is left; say what they are by --kinds column=kind'
    >>> spoken("kinds={'x': 'nominal'} keeps them as words")
    '--kinds x=nominal keeps them as words'
    """
    sentence = ONE_KIND.sub(lambda kind: f"--kinds {shlex.quote(f'{kind[2]}={kind[3]}')}", sentence)
    for python, here in SPOKEN:
        sentence = sentence.replace(python, here)
    return " ".join(sentence.split())


def guarded(work: Callable[[], int]) -> int:
    """The exit code of ``work``; whatever it raises is told in a sentence.

    >>> guarded(lambda: 0)
    0
    """
    try:
        return work()
    except KeyboardInterrupt:
        tell("interrupted")
        return INTERRUPTED
    except Exception as error:
        if os.environ.get("SEPARATRIX_DEBUG") == "1":
            traceback.print_exc()
        code, sentence = told(error)
        if sentence:
            tell(sentence)
        return code


def told(error: Exception) -> tuple[int, str]:
    """(exit code, sentence) of an exception."""
    if isinstance(error, AppError):
        return error.code, spoken(str(error))
    module = type(error).__module__
    if module.startswith("typer"):
        code = int(getattr(error, "exit_code", USAGE))
        asked = getattr(error, "ctx", None)
        path = asked.command_path if asked is not None else "separatrix"
        text = str(getattr(error, "format_message", lambda: "")()).rstrip(".")
        return code, f"{text[:1].lower()}{text[1:]}; see {path} --help" if text else ""
    if isinstance(error, MemoryError):
        return UNUSABLE, "the work does not fit into memory; give fewer rows, columns or classes"
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename else ""
        return UNUSABLE, f"{place}{error.strerror.lower()}; check the path and its permissions"
    if isinstance(error, (ValueError, TypeError, ArithmeticError, ImportError, OSError)) and str(error):
        return UNUSABLE, spoken(str(error))
    return UNUSABLE, (
        f"{type(error).__name__}: {spoken(str(error)) or 'no reason given'}; this should not have happened: run it "
        "again with SEPARATRIX_DEBUG=1 to see where"
    )


def tell(sentence: str) -> None:
    """A line on standard error that begins with the program's name."""
    clean = "".join(c if c.isprintable() else "�" for c in sentence)
    print(f"separatrix: {clean}", file=sys.stderr, flush=True)
