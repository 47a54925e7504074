"""The curve of `svm_path`: scores of every (γ, C, fold), what they choose, as a table and as a picture (row M11).

    best    the largest mean over folds, of equals the smallest C, then the smallest γ
    simple  the smallest C within one standard error of it

Notes [6321] "Support vector machines" (C is set by cross-validation).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.data.extras import data_frame, pyplot
from separatrix.inference.summary import Summary
from separatrix.models.margin.svc import SVC

TIED = 1e-12  # means this close, relatively, are equal: folds are added up in some order
LINES = 5  # curves in one picture; more γ become a map
SHOWN = 9  # γ in a printed table


class Choice(NamedTuple):
    """A point of the path: C, gamma (None where the kernel has none), mean score and its standard error."""

    C: float
    gamma: float | None
    score: float
    standard_error: float


@dataclass(frozen=True, eq=False, repr=False)
class SVMPath:
    """The curve of :func:`svm_path`: score(γ, C) of every fold, and what it chooses.

    Shapes: G values of gamma, M of C, F folds. Points that an interruption left no time for are NaN (steps and
    support 0).

    Attributes
    ----------
    Cs, gammas : (M,) and (G,), ascending; gammas is a single NaN where the kernel has none
    scores : (G, M, F), of the rows held out, by weight
    support : (G, M, F), rows that carry the machines
    gap : (G, M), the largest proven distance from the optimum of a fold, relative to its objective; inf where the
        kernel is not positive semidefinite and nothing is proven
    steps : (G, M, F), pairs of variables moved
    seconds : (G, M), over all folds
    scoring, kernel : as given
    estimator : the :class:`~separatrix.SVC` fitted to all rows, with its verdict; None without ``refit``
    interrupted : whether Ctrl-C ended the path
    """

    Cs: FloatArray
    gammas: FloatArray
    scores: FloatArray
    support: np.ndarray
    gap: FloatArray
    steps: np.ndarray
    seconds: FloatArray
    scoring: str
    kernel: str
    estimator: SVC | None = field(default=None)
    interrupted: bool = False

    @property
    def mean(self) -> FloatArray:
        """(G, M): over the folds; NaN where one is missing."""
        return np.asarray(self.scores.mean(axis=2))

    @property
    def standard_error(self) -> FloatArray:
        """(G, M): the standard deviation over folds divided by √F; NaN of a single split."""
        folds = self.scores.shape[2]
        if folds < 2:
            return np.full(self.scores.shape[:2], np.nan)
        return np.asarray(self.scores.std(axis=2, ddof=1) / np.sqrt(folds))

    @property
    def best(self) -> Choice | None:
        """The largest mean score; among equals the smallest C, then the smallest gamma. None: none is finished."""
        at = self._best()
        return None if at is None else self._choice(*at)

    @property
    def one_standard_error(self) -> Choice | None:
        """The smallest C, at the gamma of ``best``, whose mean is within one standard error of the best."""
        at = self._best()
        if at is None:
            return None
        g, m = at
        error = self.standard_error[g, m]
        least = self.mean[g, m] - (error if np.isfinite(error) else 0.0)
        return self._choice(g, int(np.flatnonzero(self.mean[g] >= least - TIED * abs(least))[0]))

    def _best(self) -> tuple[int, int] | None:
        mean = self.mean
        if np.isnan(mean).all():
            return None
        top = float(np.nanmax(mean))
        m, g = np.argwhere((mean >= top - TIED * abs(top)).T)[0]
        return int(g), int(m)

    def _choice(self, g: int, m: int) -> Choice:
        gamma = None if np.isnan(self.gammas[g]) else float(self.gammas[g])
        return Choice(float(self.Cs[m]), gamma, float(self.mean[g, m]), float(self.standard_error[g, m]))

    # ---- to look at ----

    def to_frame(self) -> Any:
        """A pandas DataFrame, a row for each (gamma, C)."""
        shape = self.gap.shape
        columns: dict[str, Any] = {
            "gamma": np.broadcast_to(self.gammas[:, None], shape),
            "C": np.broadcast_to(self.Cs, shape),
            "mean": self.mean,
            "standard_error": self.standard_error,
        }
        columns |= {f"fold_{f}": self.scores[:, :, f] for f in range(self.scores.shape[2])}
        columns |= {
            "support": self.support.mean(axis=2),
            "gap": self.gap,
            "steps": self.steps.sum(axis=2),
            "seconds": self.seconds,
        }
        return data_frame({k: np.ravel(v) for k, v in columns.items()}, range(self.gap.size))

    def table(self) -> Summary:
        """As a table to print: details of one gamma, or the means by gamma."""
        best, simple = self.best, self.one_standard_error
        folds = self.scores.shape[2]
        header = [("Kernel", self.kernel), ("Score", f"{self.scoring}, {folds} folds")]
        for name, choice in (("Best", best), ("Within one s.e.", simple)):
            if choice is not None:
                gamma = "" if choice.gamma is None else f", gamma = {choice.gamma:.4g}"
                header.append((name, f"C = {choice.C:.4g}{gamma}"))
        at = self._best() or (0, 0)
        formats: dict[str, str]
        if len(self.gammas) == 1:
            columns = {
                "mean": self.mean[0],
                "s.e.": self.standard_error[0],
                "support": self.support[0].mean(axis=1),
                "gap": self.gap[0],
                "steps": self.steps[0].sum(axis=1).astype(float),
            }
            formats = {"mean": ".4f", "s.e.": ".4f", "support": ".0f", "gap": ".0e", "steps": "count"}
        else:
            first = min(max(at[0] - SHOWN // 2, 0), max(len(self.gammas) - SHOWN, 0))
            some = range(first, min(first + SHOWN, len(self.gammas)))
            columns = {f"γ {self.gammas[g]:.3g}": self.mean[g] for g in some}
            formats = dict.fromkeys(columns, ".4f")
        index = tuple(f"C {c:.4g}" for c in self.Cs)
        title = "Price of slack by cross-validation"
        return Summary(title, tuple(header), index, columns, self._notes(), formats=formats)

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if self.interrupted:
            done = int(np.isfinite(self.mean).sum())
            notes.append(f"Interrupted: {done} of {self.gap.size} points are finished, the others are —.")
        if len(self.gammas) > SHOWN:
            notes.append(f"{SHOWN} of {len(self.gammas)} gammas are shown; to_frame() has all.")
        best = self.best
        if best is not None and len(self.Cs) > 1:
            ends = [word for word, C in (("smallest", self.Cs[0]), ("largest", self.Cs[-1])) if best.C == C]
            if ends:
                notes.append(f"The best C is the {ends[0]} of the grid: a wider one may do better.")
        if np.isinf(self.gap).any():
            notes.append("The kernel is not positive semidefinite: no optimum is claimed.")
        return tuple(notes)

    def plot(self, ax: Any = None) -> Any:
        """Mean score against C with a band of one standard error, a line each gamma; a map of more than five gammas.

        Draws on ``ax`` (default a new figure) with matplotlib, and returns it.
        """
        if ax is None:
            _, ax = pyplot().subplots()
        best, simple = self.best, self.one_standard_error
        if len(self.gammas) > LINES:
            drawn = ax.pcolormesh(self.Cs, self.gammas, self.mean, shading="nearest", cmap="cividis")
            ax.figure.colorbar(drawn, ax=ax, label=self.scoring)
            ax.set(xscale="log", yscale="log", xlabel="C", ylabel="gamma")
            if best is not None:
                ax.plot(
                    best.C, best.gamma, "o", markerfacecolor="none", markeredgecolor="white", markersize=11
                )
            return ax
        mean, error = self.mean, np.nan_to_num(self.standard_error)
        for g, gamma in enumerate(self.gammas):
            name = None if len(self.gammas) == 1 else f"gamma {gamma:.3g}"
            line = ax.plot(self.Cs, mean[g], marker="o", markersize=3.5, label=name)[0]
            ax.fill_between(
                self.Cs, mean[g] - error[g], mean[g] + error[g], alpha=0.15, color=line.get_color()
            )
        for choice, style in ((best, "-"), (simple, "--")):
            if choice is not None:
                ax.axvline(choice.C, color="0.5", linewidth=0.9, linestyle=style, zorder=0)
        ax.set(xscale="log", xlabel="C", ylabel=self.scoring)
        if len(self.gammas) > 1:
            ax.legend()
        return ax

    def __str__(self) -> str:
        return str(self.table())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()
