"""Names in a sentence:  a, b and c;  a, b and 3 more."""

from __future__ import annotations

from collections.abc import Sequence


def joined(names: Sequence[str]) -> str:
    """All of them.

    >>> joined(["a", "b", "c"]), joined(["a"])
    ('a, b and c', 'a')
    """
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def and_more(names: Sequence[str], most: int) -> str:
    """The first of them, and how many more there are.

    >>> and_more(["a", "b", "c"], 2), and_more(["a", "b"], 2)
    ('a, b and 1 more', 'a, b')
    """
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")
