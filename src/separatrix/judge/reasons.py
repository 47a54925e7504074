"""What is said of a model that was not given all folds and rows, and of what more time could change: one place.

    Reasons      why, by model; of each the last thing that happened to it is said

Every sentence is made of what happened, when it has happened: what was cut is not said to win. Row V1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from separatrix.core.words import joined
from separatrix.judge.budget import short


def rows_in_words(rows: int, of_all: int) -> str:
    """Of training.

    >>> rows_in_words(4000, 33715), rows_in_words(120, 120)
    ('4,000 of 33,715 rows', 'all rows')
    """
    return "all rows" if rows >= of_all else f"{rows:,} of {of_all:,} rows"


def folds_in_words(folds: int, of_all: int) -> str:
    """Folds.

    >>> folds_in_words(1, 5), folds_in_words(10, 5)
    ('1 fold of 5', '10 folds')
    """
    return f"{folds} fold{'s' * (folds != 1)} of {of_all}" if folds < of_all else f"{folds} folds"


@dataclass
class Reasons:
    """Sentences by model; ``kinds``: "failed", "time", "rows", "behind", or "late": the last two."""

    said: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)

    def _say(self, name: str, kind: str, text: str) -> str:
        self.said[name], self.kinds[name] = text, kind
        return text

    def failed(self, name: str, fold: int, rows: int | None, error: Exception) -> str:
        where = f"in fold {fold + 1}" if rows is None else f"on {rows:,} rows"
        return self._say(name, "failed", f"failed {where}: {error}")

    def called_off(self, name: str, rows: int, seconds: float, before: int) -> str:
        """A fit that was begun; ``before``: rows of the fit that was finished, 0 for none."""
        text = f"a fit to {rows:,} rows was called off after {short(seconds)}"
        return self._say(name, "rows" if before else "time", text)

    def too_long(self, name: str, rows: int, seconds: float, small: tuple[int, float], left: float) -> str:
        """A fit that was not begun, by a smaller one that was."""
        rest = f"too much of the {short(left)} left for all folds" if left > 0.05 else "and no time was left"
        text = (
            f"a fit to {rows:,} rows would take about {short(seconds)} (its fit to {small[0]:,} took "
            f"{short(small[1])}), {rest}"
        )
        return self._say(name, "rows", text)

    def not_begun(self, name: str, budget: float) -> str:
        return self._say(name, "time", f"the budget of {short(budget)} ended before its first fit")

    def behind(self, name: str, rows: int, of_rows: int, folds: int, of_folds: int, best: str) -> str:
        seen = folds_in_words(folds, of_folds)
        on = "" if rows >= of_rows else f", {rows_in_words(rows, of_rows)}"
        text = f"behind {best} after {seen}{on}: it was not followed further"
        if self.kinds.get(name) == "rows":  # for want of time, and both are said
            return self._say(name, "late", self.said[name])
        return self._say(name, "behind", text)


def more_time(undone: Mapping[str, list[str]], seconds: float) -> str:
    """What a larger budget could change, from what was left undone: kind → models.

    >>> more_time({"tuning": ["svc", "logistic"]}, 31.0)
    'With a larger budget (about 40 s more) svc and logistic would be tuned.'
    >>> more_time({}, 0.0)
    ''
    """
    spoken = {
        "first": "{} would be tried",
        "rows": "{} would be fitted to all rows",
        "folds": "{} would be judged on all folds",
        "tuning": "{} would be tuned",
        "repeat": "the folds would be repeated",
    }
    parts = [spoken[kind].format(joined(undone[kind])) for kind in spoken if kind in undone]
    if not parts:
        return ""
    much = f" (about {_rounded(seconds)} s more)" if seconds == seconds and seconds > 0 else ""
    return f"With a larger budget{much} {joined(parts)}."


def _rounded(seconds: float) -> int:
    """Up to a number that reads well.

    >>> _rounded(7.2), _rounded(83.0), _rounded(431.0)
    (10, 90, 450)
    """
    step = 10 if seconds <= 100 else 50 if seconds <= 1000 else 500
    return -int(-seconds // step) * step
