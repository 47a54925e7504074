"""Boosting round by round:  training error, test error and the bound ∏_t Z_t.

    training error ≤ ∏ Z_t,   Z_t = 2√(ε_t(1 − ε_t)) for two classes

Notes [6321] "Boosting"; rows V4, V3, E2. Cost: one staged prediction, O(nT).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from separatrix.core.numerics import FloatArray
from separatrix.show.look import LINES, Axes, Display, Theme, head
from separatrix.show.reading import check_classifier, codes_of, name_of, need_y


@dataclass(eq=False)
class BoostingDisplay(Display):
    """Errors after each round and the bound ∏ Z_t on the training error ([6321]; V3, V4).

    Made by :meth:`from_estimator`. ``train``, ``test``, ``bound`` (T,), None where unknown.

    Examples
    --------
    >>> from separatrix import AdaBoostClassifier
    >>> X, y = np.arange(12.0)[:, None], np.array([0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 0, 0])
    >>> model = AdaBoostClassifier(n_estimators=20).fit(X, y)
    >>> display = BoostingDisplay.from_estimator(model)
    >>> bool((display.train <= display.bound + 1e-12).all()), len(display.train) == len(model.estimators_)
    (True, True)
    >>> display.close()
    """

    model: str
    train: FloatArray | None
    test: FloatArray | None
    bound: FloatArray | None
    title: str | None = None
    lines_: list[Any] = field(default_factory=list, repr=False)

    @classmethod
    def from_estimator(
        cls,
        model: BaseEstimator,
        X: Any = None,
        y: Any = None,
        X_test: Any = None,
        y_test: Any = None,
        *,
        title: str | None = None,
        ax: Axes | None = None,
        theme: str | None = None,
    ) -> BoostingDisplay:
        """Draw a fitted boosted classifier, ours or any with ``staged_predict``.

        X, y are the rows it was fitted to (not needed by AdaBoostClassifier, which remembers its training errors);
        X_test, y_test rows it has not seen.
        """
        classes = check_classifier(model)
        if not hasattr(model, "staged_predict"):
            raise TypeError(f"{name_of(model)} has no staged_predict: this picture is of boosted models")
        train: FloatArray | None
        if X is None and hasattr(model, "train_errors_"):
            train = np.asarray(model.train_errors_)
        elif X is not None:
            need_y(y, "a training error")
            train = staged_errors(model, X, y, classes)
        else:
            train = None
        if X_test is not None:
            need_y(y_test, "a test error")
        test = None if X_test is None else staged_errors(model, X_test, y_test, classes)
        if train is None and test is None:
            raise ValueError(f"{name_of(model)} keeps no training errors: give X and y, or X_test and y_test")
        return cls(name_of(model), train, test, bound_of(model, len(classes)), title).plot(ax, theme=theme)

    @property
    def alt_text(self) -> str:
        parts = []
        if self.train is not None:
            zero = np.flatnonzero(self.train == 0)
            more = (
                f", zero from round {zero[0] + 1}" if len(zero) and (self.train[zero[0] :] == 0).all() else ""
            )
            parts.append(f"training error {self.train[0]:.3g} to {self.train[-1]:.3g}{more}")
        if self.test is not None:
            best = int(self.test.argmin())
            least = f"least {self.test[best]:.3g} at round {best + 1}"
            parts.append(f"test error {self.test[0]:.3g} to {self.test[-1]:.3g}, {least}")
        if self.bound is not None:
            parts.append(f"the bound falls to {self.bound[-1]:.3g}")
        return f"{self.model} over {self._rounds} rounds: {'; '.join(parts)}."

    @property
    def _rounds(self) -> int:
        return len(next(v for v in (self.train, self.test) if v is not None))

    def _draw(self, ax: Axes, look: Theme) -> None:
        self.lines_ = []
        shown = (
            ("training error", self.train, look.colours[0], 3),
            ("test error", self.test, look.colours[5], 3),
            ("bound ∏Zₜ", self.bound, look.muted, 2),
        )
        for line, (label, values, colour, above) in zip(LINES, shown):
            if values is not None:
                at = np.arange(1, len(values) + 1)
                self.lines_ += ax.plot(at, values, color=colour, linestyle=line, label=label, zorder=above)
        errors = np.concatenate([v for v in (self.train, self.test) if v is not None])
        top = max(1.6 * float(errors.max()), 0.05)
        if self.bound is not None:
            top = min(top, max(1.05 * float(self.bound.max()), 1.1 * float(errors.max())))
        ax.set(xlim=(1, max(self._rounds, 2)), ylim=(-0.02 * top, top), xlabel="rounds", ylabel="error")
        if self._rounds > 20:
            ax.set_xscale("log")
            ticks = [t for t in (1, 3, 10, 30, 100, 300, 1000, 3000, 10000) if t <= self._rounds]
            ax.set_xticks(ticks, [f"{t:,}" for t in ticks])
            ax.minorticks_off()
        ax.grid(axis="y", color=look.grid, linewidth=0.7)
        ax.set_axisbelow(True)
        head(ax, look, self.title or f"{self.model} round by round", "", self.lines_)


def staged_errors(model: BaseEstimator, X: Any, y: Any, classes: np.ndarray) -> FloatArray:
    """Share of rows put wrong after each round (T,)."""
    codes = None
    out = []
    for said in model.staged_predict(X):
        if codes is None:
            codes = codes_of(classes, y, len(said))
        out.append(float(np.mean(np.asarray(said) != classes[codes])))
    return np.array(out)


def bound_of(model: BaseEstimator, classes: int) -> FloatArray | None:
    """∏ Z_t after each round: kept by the model, or for two classes and full steps from the errors ε_t."""
    if hasattr(model, "normalizers_"):
        return np.cumprod(np.asarray(model.normalizers_))
    errors = getattr(model, "estimator_errors_", None)
    if errors is None or classes != 2 or getattr(model, "learning_rate", None) != 1.0:
        return None
    e = np.asarray(errors, dtype=float)[: len(model.estimators_)]
    return np.cumprod(2.0 * np.sqrt(e * (1.0 - e)))
