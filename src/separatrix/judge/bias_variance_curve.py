"""Bias and variance over a setting of the learner:  total(v) = bias(v) + variance(v) + noise, on the same bootstraps.

Every value v of the setting meets the same bags and the same rows left out, so what differs between two values is
the setting and not the draw. Notes [6321] (ensembles reduce bias or variance), [726] "bias/variance
trade-off". Row V5 of the specification. Cost: B fits for each value.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone

from separatrix.core.numerics import FloatArray
from separatrix.data.extras import data_frame, pyplot
from separatrix.data.interrupts import until_interrupted
from separatrix.data.sources import TableLike
from separatrix.inference.summary import Printed, Summary
from separatrix.judge.bias_variance import BiasVariance, judge, read_draws, warn_once
from separatrix.judge.left_out import read_task

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = ("error", "bias", "variance", "noise")
COLOURS = {"error": "#222222", "bias": "#0072B2", "variance": "#D55E00", "noise": "#777777"}
MARKERS = {"error": "o", "bias": "s", "variance": "^", "noise": None}


@dataclass(frozen=True, eq=False, repr=False)
class BiasVarianceCurve(Printed):
    """What :func:`bias_variance_curve` finds: a :class:`BiasVariance` for each value of a setting.

    Attributes
    ----------
    param_name, param_range : the setting and its values, as given
    results : a result for each value; fewer where Ctrl-C cut the work short, and the last of those may have fewer
        bootstraps
    interrupted : whether it did
    """

    param_name: str
    param_range: tuple[Any, ...]
    results: tuple[BiasVariance, ...]
    interrupted: bool = False

    def part(self, name: str) -> FloatArray:
        """(values, 3): a part's value, low and high at each value of the setting."""
        return np.array([result.parts[name][:3] for result in self.results])

    @property
    def best(self) -> Any:
        """The value with the least total, the first of equals."""
        return self.param_range[int(self.part("error")[:, 0].argmin())]

    # ---- to look at ----

    def to_frame(self) -> Any:
        """A pandas DataFrame, a row for each value: every part with the ends of its interval."""
        columns: dict[str, Any] = {self.param_name: self._values()}
        for name in self.results[0].parts:
            part = self.part(name)
            label = "total" if name == "error" else name
            columns |= {label: part[:, 0], f"{label}_low": part[:, 1], f"{label}_high": part[:, 2]}
        columns["bootstraps"] = np.array([result.bootstraps for result in self.results])
        return data_frame(columns, range(len(self.results)))

    def table(self) -> Summary:
        """As a table to print: the parts at each value."""
        first = self.results[0]
        index = tuple(f"{self.param_name} {_short(v)}" for v in self.param_range[: len(self.results)])
        shown = SHOWN if first.noise_known else SHOWN[:-1]
        columns = {name: self.part(name)[:, 0] for name in shown}
        columns["error ±"] = (self.part("error")[:, 2] - self.part("error")[:, 1]) / 2
        notes = [first._noise_note()]
        if self.interrupted:
            notes.append(f"Interrupted: {len(self.results)} of {len(self.param_range)} values are here.")
        header = (("Rows", f"{first.rows:,}"), ("Bootstraps", f"{first.bootstraps:,}, the same for all"))
        return Summary(f"Bias and variance of {first.estimator}", header, index, columns, tuple(notes))

    def plot(self, ax: Axes | None = None) -> Any:
        """Error, bias, variance (and noise where it is known) over the setting, with bands of their intervals.

        The axis is logarithmic where the values are spaced by ratios. Draws on ``ax`` (default a new figure) with
        matplotlib, and returns it.
        """
        if ax is None:
            _, ax = pyplot().subplots()
        values = self._values()
        numeric = values.dtype.kind in "fiu"
        order = np.argsort(values, kind="stable") if numeric else np.arange(len(values))
        at = values[order] if numeric else np.arange(len(values))
        squares = self.results[0].loss == "squared"
        for name in SHOWN:
            part = self.part(name)[order]
            if name == "noise" and not self.results[0].noise_known:
                continue
            label = "bias²" if squares and name == "bias" else name
            style: dict[str, Any] = {"color": COLOURS[name], "marker": MARKERS[name], "markersize": 4}
            ax.fill_between(at, part[:, 1], part[:, 2], color=COLOURS[name], alpha=0.12, linewidth=0)
            ax.plot(at, part[:, 0], label=label, linestyle="--" if name == "noise" else "-", **style)
        if numeric and geometric(at):
            ax.set_xscale("log")
        elif not numeric:
            ax.set_xticks(at, [_short(v) for v in values])
        what = {"number": "mean squared error", "share": "half the Brier score", "label": "0–1 loss"}
        ax.set(xlabel=self.param_name, ylabel=what[self.results[0].of])
        ax.legend()
        return ax

    def _values(self) -> np.ndarray:
        """The values met (V,), as numbers where all are, else as short words."""
        given = self.param_range[: len(self.results)]
        if all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in given):
            return np.array(given)
        return np.array([_short(v) for v in given], dtype=object)


def geometric(values: np.ndarray) -> bool:
    """Whether ascending numbers are spaced by ratios rather than by differences.

    >>> geometric(np.array([1, 2, 5, 10, 20, 50])), geometric(np.array([1, 2, 3, 4, 5]))
    (True, False)
    """
    if len(values) < 3 or values[0] <= 0 or values[-1] < 5 * values[0]:
        return False
    steps, ratios = np.diff(values), np.diff(np.log(values))
    return bool(ratios.std() * steps.mean() < steps.std() * ratios.mean())


def bias_variance_curve(
    estimator: BaseEstimator,
    X: TableLike,
    y: ArrayLike,
    *,
    param_name: str,
    param_range: Iterable[Any],
    loss: str | None = None,
    n_bootstraps: int = 200,
    max_samples: int | float | None = None,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: bool | int = False,
) -> BiasVarianceCurve:
    """total(v) = bias(v) + variance(v) + noise for each value v of a setting, on the same bootstraps.

    Rows X (n, p), y (n,). Notes [6321], [726]. Values are compared on the same bags, the same rows left out and the
    same seeds of the learner. Costs ``n_bootstraps`` fits a value. Ctrl-C keeps what is finished.

    Parameters
    ----------
    estimator, X, y, loss, n_bootstraps, max_samples, sample_weight, level, random_state, n_jobs, verbose : as in
        :func:`~separatrix.bias_variance`
    param_name : the setting, as in ``estimator.get_params()`` ("max_depth"; "step__C" of a pipeline)
    param_range : its values

    Returns
    -------
    :class:`BiasVarianceCurve` : ``results``, ``best``, ``part(name)``, ``to_frame()``, ``plot()``

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 6, (100, 1))
    >>> y = np.sin(x[:, 0]) + rng.normal(0, 0.3, 100)
    >>> curve = bias_variance_curve(
    ...     KNeighborsRegressor(),
    ...     x,
    ...     y,
    ...     param_name="n_neighbors",
    ...     param_range=[1, 5, 20, 60],
    ...     n_bootstraps=50,
    ... )
    >>> variance = curve.part("variance")[:, 0]
    >>> bool((np.diff(variance) < 0).all()), curve.best
    (True, 20)
    """
    task = read_task(estimator, X, y, loss, sample_weight)
    draws = read_draws(task, n_bootstraps, max_samples, level, random_state, n_jobs)
    known = estimator.get_params()
    if param_name not in known:
        near = get_close_matches(str(param_name), known, 3) or sorted(known)[:8]
        raise ValueError(
            f"{type(estimator).__name__} has no setting {param_name!r}: did you mean {', '.join(map(repr, near))}?"
        )
    if isinstance(param_range, str) or not isinstance(param_range, Iterable):
        raise ValueError(f"param_range must be a list of values of {param_name}, got {param_range!r}")
    values = tuple(v.item() if isinstance(v, np.generic) else v for v in param_range)
    if not values:
        raise ValueError(f"param_range is empty: give the values of {param_name} to compare")
    results: list[BiasVariance] = []
    interrupted = False
    for value in values:
        title = f"{param_name}={_short(value)}"
        with until_interrupted() as watch:
            model = clone(estimator).set_params(**{param_name: value})
            results.append(judge(model, task, draws, int(n_bootstraps), level, n_jobs, verbose, title))
        if not results:
            raise KeyboardInterrupt("nothing was finished")
        interrupted = watch.interrupted or results[-1].interrupted
        if interrupted:
            break
    warn_once(_together(results))
    return BiasVarianceCurve(str(param_name), values, tuple(results), interrupted)


def _together(results: list[BiasVariance]) -> tuple[tuple[type[Warning], str, int], ...]:
    kinds: dict[type[Warning], tuple[str, int]] = {}
    for result in results:
        for kind, text, times in result.warned:
            before = kinds.get(kind, (text, 0))
            kinds[kind] = (before[0], before[1] + times)
    return tuple((kind, text, times) for kind, (text, times) in kinds.items())


def _short(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        return f"{value:.4g}"
    if isinstance(value, (int, str, np.integer)) or value is None:
        return str(value)
    return type(value).__name__
