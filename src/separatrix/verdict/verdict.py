"""The Verdict: does the optimum exist, is it unique, how far from it are we at most, what stopped us.

Status is one of
    optimal        the gap is proven at most tol
    closed form    a formula gave the answer; the gap is its residual's
    stationary     the score vanishes to rounding where the curvature is positive: a local optimum, and the only
                   one where the findings say that F is convex; no bound is known for this objective
    not converged  the gap is known and larger than tol, or nothing could be proven
    no optimum     a proof says the infimum is not attained (separated classes without a penalty)
    infeasible     the constraints contradict each other
    no claim       the method makes none
    interrupted    stopped by the user; the gap is that of the best point so far
"Optimal" means that a bound was met, never that a step got small.

The objective's scale is one of
    mean loss      Σ sᵢ ℓᵢ / Σ sᵢ + penalty, of trees and stumps the mean impurity or error
    C-scaled sum   ½‖w‖² + C Σ sᵢ ℓᵢ, as support vector machines state it
    summed loss    Σ sᵢ ℓᵢ + penalty
Verdicts are made by verdict/build.py.
"""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from sklearn.exceptions import ConvergenceWarning as _SklearnConvergenceWarning

from separatrix.core.numerics import FloatArray
from separatrix.data.sources import TableLike

Status = Literal[
    "optimal",
    "closed form",
    "stationary",
    "not converged",
    "no optimum",
    "infeasible",
    "no claim",
    "interrupted",
]
Scale = Literal["mean loss", "C-scaled sum", "summed loss", ""]
Columns = tuple[str | int, ...]  # of a table, by name where it has names


class Proof(Protocol):
    """What settles a question of existence, and can be checked without trust in how it was found."""

    def check(self, X: TableLike, y: Any, /) -> bool:
        """Whether it holds for these rows."""

    def sentence(self) -> str:
        """What it proves, in one line."""


class SeparationWarning(UserWarning):
    """The classes are separated and nothing bounds the weights: no maximum-likelihood estimate exists."""


class ConvergenceWarning(_SklearnConvergenceWarning):
    """The gap asked for was not reached; the verdict says how far the answer may be from the optimum."""


@dataclass(frozen=True)
class Verdict:
    """min F ∈ [bound, objective], and what is known of the minimiser.

    Parameters
    ----------
    model : name of the estimator
    status : see the module
    objective : F at the fitted parameters, on ``scale``
    gap : objective − bound, proven; inf when nothing could be proven
    tol : the gap the fit was asked for
    unique : whether the minimiser is proven unique; None when not known
    sweeps : passes over the data (a fraction for passes over part of it)
    seconds : wall time of the fit
    stopped_by : what ended the fit, in words
    findings : sentences a reader should know: separation, aliased columns, scales
    direction : (p,) or (K, p), a direction along which the loss falls for ever, when one exists
    columns : names or indices of columns whose coefficients run to infinity
    separation : the proof, when computed: a :class:`~separatrix.verdict.separability.Separability`, or a
        :class:`~separatrix.solve.separator.Contradiction`
    method : the method that ran, where there is a choice of them; else ""
    scale : of the objective: "mean loss", "C-scaled sum" or "summed loss" (see the module); "" where there is none

    Examples
    --------
    >>> print(Verdict("Demo", "optimal", 0.25, 1e-12, 1e-8, True, 6, 0.01, "gap ≤ tol", scale="mean loss"))
    Demo · optimal, unique
      objective 0.25 (mean loss)   proven within 1.0e-12   6 sweeps, 10 ms   stopped: gap ≤ tol
    """

    model: str
    status: Status
    objective: float
    gap: float
    tol: float
    unique: bool | None
    sweeps: float
    seconds: float
    stopped_by: str
    findings: tuple[str, ...] = ()
    direction: FloatArray | None = field(default=None, compare=False, repr=False)
    columns: Columns = ()
    separation: Proof | None = field(default=None, compare=False, repr=False)
    method: str = ""
    scale: Scale = ""

    @property
    def bound(self) -> float:
        """A proven lower bound of the objective's minimum (or infimum)."""
        return self.objective - self.gap

    @property
    def settled(self) -> bool:
        """Whether the question is closed: an optimum within tol, or a proof that there is none."""
        return self.status in ("optimal", "closed form", "stationary", "no optimum", "infeasible")

    def headline(self) -> str:
        if self.status == "no optimum":
            return f"{self.model} · no optimum exists"
        words = {True: ", unique", False: ", not unique", None: ""}[self.unique]
        return f"{self.model} · {self.status}{words}"

    def figures(self) -> str:
        """The line of numbers; empty when there is no optimum to be near."""
        if self.status == "no optimum":
            return ""
        proven = f"proven within {self.gap:.1e}" if self.gap < float("inf") else "no bound proven"
        swept = f"{self.sweeps:.3g} sweep{'' if self.sweeps == 1 else 's'}"
        swept += f" of {self.method}" if self.method else ""
        scale = f" ({self.scale})" if self.scale else ""
        return (
            f"objective {self.objective:.6g}{scale}   {proven}   {swept}, "
            f"{_seconds(self.seconds)}   stopped: {self.stopped_by}"
        )

    def __str__(self) -> str:
        lines = [self.headline()]
        if self.figures():
            lines.append(self.figures())
        return "\n  ".join([*lines, *self.findings])

    def _repr_html_(self) -> str:
        mark = "#1a7f37" if self.status in ("optimal", "closed form", "stationary") else "#b35900"
        rows = [
            (name, value)
            for name, value in (
                ("objective", f"{self.objective:.10g}"),
                ("scale", self.scale),
                ("minimum proven at least", f"{self.bound:.10g}" if self.gap < float("inf") else "—"),
                ("gap", f"{self.gap:.2e}"),
                ("asked for", f"{self.tol:.1e}"),
                ("method", self.method),
                ("sweeps", f"{self.sweeps:.3g}"),
                ("time", _seconds(self.seconds)),
                ("stopped", self.stopped_by),
            )
            if value and (self.status != "no optimum" or name in ("method", "sweeps", "time", "stopped"))
        ]
        cells = "".join(
            f"<tr><th style='text-align:left;font-weight:normal;opacity:.7;padding:.1em 1em .1em 0'>"
            f"{html.escape(name)}</th><td style='text-align:left'>{html.escape(value)}</td></tr>"
            for name, value in rows
        )
        findings = "".join(f"<li>{html.escape(f)}</li>" for f in self.findings)
        return (
            "<div style='font-family:sans-serif;border-left:.3em solid "
            f"{mark};padding:.2em 1em;max-width:50em'><strong>{html.escape(self.headline())}</strong>"
            f"<table style='border-collapse:collapse;font-variant-numeric:tabular-nums'>{cells}</table>"
            + (f"<ul style='margin:.4em 0;padding-left:1.2em'>{findings}</ul>" if findings else "")
            + "</div>"
        )


def _seconds(seconds: float) -> str:
    return f"{seconds * 1e3:.0f} ms" if seconds < 0.0995 else f"{seconds:.2f} s"
