"""Where an optimiser went:  the path w⁰, w¹, … of two coefficients over contours of the objective F(w).

    contours of F(w_a, w_b) with every other coefficient, and the intercept, at the last point of the path

Notes [PC] "Gradient Ascent Methods" and "Newton-Raphson Method", [6867] 3.2.2; rows V4, D3. Cost: ``steps``² values
of F, O(np) each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from separatrix.core.numerics import FloatArray
from separatrix.data.sources import TableLike
from separatrix.show.look import MARKERS, Axes, Display, Theme, head, key, limit_colours, mixed
from separatrix.show.reading import ShownTable, check_fitted, name_of


@dataclass(eq=False)
class OptimiserPathDisplay(Display):
    """The points a solver visited over contours of its objective ([PC], [6867] 3.2.2; V4, D3).

    Made by :meth:`from_estimator` of models fitted with ``record_path=True``. ``paths`` maps a name to points (T, 2),
    ``values`` to F at them; ``height`` (steps, steps) is F over ``xx``, ``yy``; ``best`` the end of the lowest path.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression(record_path=True, fit_intercept=False).fit(
    ...     X[:, 2:] - X[:, 2:].mean(axis=0), y == 2
    ... )
    >>> display = OptimiserPathDisplay.from_estimator(
    ...     model, X[:, 2:] - X[:, 2:].mean(axis=0), y == 2, steps=20
    ... )
    >>> display.height.shape, bool(display.height.min() >= model.verdict_.objective)
    ((20, 20), True)
    >>> display.close()
    """

    paths: dict[str, FloatArray]
    values: dict[str, FloatArray]
    labels: tuple[str, str]
    xx: FloatArray
    yy: FloatArray
    height: FloatArray
    best: FloatArray
    lowest: float
    note: str = ""
    title: str | None = None
    lines_: list[Any] = field(default_factory=list, repr=False)

    size = (6.4, 5.0)

    @classmethod
    def from_estimator(
        cls,
        model: BaseEstimator,
        X: TableLike,
        y: ArrayLike,
        *,
        coefficients: Sequence[Any] = (0, 1),
        sample_weight: ArrayLike | None = None,
        names: Sequence[Any] | None = None,
        steps: int = 60,
        title: str | None = None,
        ax: Axes | None = None,
        theme: str | None = None,
    ) -> OptimiserPathDisplay:
        """Draw the path of a fitted two-class model, or of several given as a mapping from names, on its own data.

        Parameters
        ----------
        X, y, sample_weight : the data of the fit
        coefficients : the two columns, by name or index
        names : (p,) names of the columns of an array
        steps : values of F along each axis
        """
        models = dict(model) if isinstance(model, Mapping) else {name_of(model): model}
        limit_colours(len(models), "paths")
        table = ShownTable(X, names)
        if len(coefficients) != 2:
            raise ValueError(f"coefficients must be two columns, got {coefficients!r}")
        a, b = (table.place(c) for c in coefficients)
        if a == b:
            raise ValueError(f"coefficients names {table.names[a]!r} twice: give two columns")
        for name, one in models.items():
            _check_path(name, one)
        paths = {str(name): np.asarray(one.path_.coef)[:, [a, b]] for name, one in models.items()}
        values = {str(name): np.asarray(one.path_.objective) for name, one in models.items()}
        lowest = min(models, key=lambda name: float(models[name].path_.objective[-1]))
        end = models[lowest].path_
        objective = models[lowest]._objectives_of(X, y, sample_weight)[0][0]
        every = np.vstack(list(paths.values()))
        low, high = every.min(axis=0), every.max(axis=0)
        room = 0.18 * np.where(high > low, high - low, 1.0)
        low, high = low - room, high + room
        xx, yy = np.meshgrid(np.linspace(low[0], high[0], steps), np.linspace(low[1], high[1], steps))
        coef, constant = end.coef[-1].copy(), end.intercept[-1]
        height = np.empty(xx.size)
        for i, (u, v) in enumerate(zip(xx.ravel(), yy.ravel())):
            coef[a], coef[b] = u, v
            height[i] = objective.evaluate(objective.from_user(coef, constant), order=0).value
        held = ["the intercept"] * bool(objective.fit_intercept) + ["other columns"] * (table.p > 2)
        where = f"with {' and '.join(held)} at the last point of the path"
        note = f"Contours of the objective {where}." if held else ""
        best = np.array([end.coef[-1][a], end.coef[-1][b]])
        return cls(
            paths, values, (f"coefficient of {table.names[a]}", f"coefficient of {table.names[b]}"), xx, yy,
            height.reshape(xx.shape), best, float(end.objective[-1]), note, title,
        ).plot(ax, theme=theme)  # fmt: skip

    @property
    def alt_text(self) -> str:
        each = [
            f"{name} takes {len(at) - 1} steps from {_point(at[0])} to {_point(at[-1])}"
            for name, at in self.paths.items()
        ]
        return f"Path over contours of the objective: {'; '.join(each)}."

    def _draw(self, ax: Axes, look: Theme) -> None:
        floor = min(self.lowest, float(self.height.min()))
        over = self.height - floor
        span = float(over.max()) or 1.0
        levels = floor + span * np.geomspace(2e-4, 0.9, 14)
        faint = [mixed(look.frame, look.ground, 0.5)]
        ax.contour(self.xx, self.yy, self.height, levels=levels, colors=faint, linewidths=0.7, zorder=1)
        self.lines_ = []
        for i, (name, at) in enumerate(self.paths.items()):
            steps = len(at) - 1
            said = f"{name}, {steps} step{'s' if steps != 1 else ''}"
            dots: dict[str, Any] = {"marker": MARKERS[i], "markersize": 4.5 if steps <= 200 else 0}
            self.lines_ += ax.plot(*at.T, linewidth=2.0, label=said, **dots, **look.line(i))
        ax.plot(*self.best, "*", color=look.ink, markersize=13, markeredgecolor=look.ground, zorder=5)
        star = key("last point", linestyle="none", marker="*", color=look.ink, markersize=10)
        ax.set(xlabel=self.labels[0], ylabel=self.labels[1])
        head(ax, look, self.title or "The way to the minimum", self.note, [*self.lines_, star])


def _point(at: FloatArray) -> str:
    return f"({at[0]:.3g}, {at[1]:.3g})"


def _check_path(name: Any, model: BaseEstimator) -> None:
    check_fitted(model)
    if not hasattr(model, "path_"):
        raise TypeError(f"{name} keeps no path: fit it with record_path=True")
    if not hasattr(model, "_objectives_of") or np.ndim(model.path_.coef) != 2:
        raise TypeError(f"{name} has a coefficient for each class: paths are drawn for two classes")
    if np.shape(model.path_.coef)[1] < 2:
        raise ValueError(f"{name} has one coefficient: a path over contours needs two")
