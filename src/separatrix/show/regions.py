"""Decision regions: where each class wins, how surely, the boundary, the margins f = ±1 and the support vectors.

    colour of a point = the class with the largest P(k | x),   its strength ∝ (max_k P(k | x) − 1/K) / (1 − 1/K)

Notes [6867] 5.1–5.3, [6321]; row V4. Cost: ``steps``² predictions.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from separatrix.core.numerics import FloatArray
from separatrix.core.words import joined
from separatrix.data.sources import TableLike
from separatrix.show.look import DASHED, MARKERS, Axes, Display, Theme, head, key, limit_colours
from separatrix.show.plane import Plane, find_plane
from separatrix.show.reading import ShownTable, check_classifier, codes_of, last_step, name_of

HINGES = ("hinge", "squared_hinge")
MACHINES = ("SVC", "NuSVC", "LinearSVC", "SubgradientSVC")
CELLS = 1 << 23  # of the rows that are asked about at once: the plane's points times their columns
FAINT, STRONG = 0.10, 0.52  # strength of colour where all classes are as likely, and where one is certain


@dataclass(eq=False)
class DecisionRegionsDisplay(Display):
    """Regions of argmax_k P(k | x) with their certainty, boundary, margins and support vectors ([6867] 5.1; V4).

    Made by :meth:`from_estimator`. For more than two columns the plane is a chosen pair (the others held at their
    median or most frequent cell), or that of two principal or discriminant directions.

    Attributes
    ----------
    xx, yy : (steps, steps) coordinates of the plane
    share : (steps, steps, K) probabilities; 0 and 1 where the model has none
    lead : (steps, steps, K) score of each class less its best rival's: zero on the boundary
    score : (steps, steps) decision function of a two-class margin machine, else None
    points, codes, support : the rows on the plane (n, 2), their classes (n,) or None, rows that are support vectors
    boundary_, margins_, rings_ : the artists of the boundary, of f = ±1 and of the support vectors, after ``plot``

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> two = y > 0
    >>> display = DecisionRegionsDisplay.from_estimator(
    ...     SVC(kernel="linear").fit(X[two, 2:], y[two]),
    ...     X[two, 2:],
    ...     y[two],
    ...     names=["length", "width"],
    ...     steps=60,
    ... )
    >>> len(display.rings_.get_offsets()) == len(display.support)
    True
    >>> display.alt_text
    'Decision regions of SVC for classes 1 and 2 over length and width, with 100 rows, the margins and 24 support
    vectors.'
    >>> display.close()
    """

    model: str
    classes: np.ndarray
    plane: Plane
    box: tuple[float, float, float, float]
    xx: FloatArray
    yy: FloatArray
    share: FloatArray
    lead: FloatArray
    score: FloatArray | None
    points: FloatArray
    codes: np.ndarray | None
    support: np.ndarray
    certain: bool
    title: str | None = None
    boundary_: list[Any] = field(default_factory=list, repr=False)
    margins_: Any = None
    rings_: Any = None

    size = (6.4, 5.0)

    @classmethod
    def from_estimator(
        cls,
        model: BaseEstimator,
        X: TableLike,
        y: ArrayLike | None = None,
        *,
        columns: Any = None,
        names: Any = None,
        steps: int = 200,
        pad: float = 0.08,
        posterior: bool = True,
        margins: bool = True,
        support: bool = True,
        title: str | None = None,
        ax: Axes | None = None,
        theme: str | None = None,
    ) -> DecisionRegionsDisplay:
        """Draw the regions of a fitted classifier, ours or scikit-learn's, around the rows X (n, p).

        Parameters
        ----------
        y : (n,) labels; without them rows are drawn in one colour
        columns : None (one or two columns as they are, else "pca"), a pair of names or indices, "pca", "lda"
        names : (p,) names of the columns of an array
        steps : points of the plane along each axis
        pad : room around the rows, as a share of their range
        posterior : colour by how probable the class is, where the model has ``predict_proba``
        margins : draw f(x) = ±1 of two-class machines that maximise a margin
        support : ring support vectors, where X are the rows the machine was fitted to
        title, ax, theme : words above the picture; axes to draw on; "light" or "dark"
        """
        classes = check_classifier(model)
        limit_colours(len(classes), "classes")
        table = ShownTable(X, names)
        if not (isinstance(steps, (int, np.integer)) and steps >= 2):
            raise ValueError(f"steps must be a whole number of at least 2, got {steps!r}")
        codes = None if y is None else codes_of(classes, y, table.n)
        plane = find_plane(table, columns, codes)
        points = plane.points.copy()
        if plane.strip:
            points[:, 1] = (0.0 if codes is None else codes) + _jitter(table.n)
        box, cut = _box(points, pad, plane.strip, len(classes)), ""
        if not plane.projected:
            box, cut = _without_tails(points, box, pad, plane)
        if cut:
            plane = replace(plane, caption=f"{plane.caption} {cut}".strip())
        xx, yy = np.meshgrid(np.linspace(*box[:2], int(steps)), np.linspace(*box[2:], int(steps)))
        at = np.column_stack([xx.ravel(), yy.ravel()])
        shape = (*xx.shape, len(classes))
        certain = not (posterior and hasattr(model, "predict_proba"))
        some = max(1, CELLS // table.p)
        parts = [
            _said(model, plane.back(at[i : i + some]), classes, certain) for i in range(0, len(at), some)
        ]
        share, lead, score = _answers(parts, classes, certain)
        machine = margins and score is not None and is_margin_machine(model)
        return cls(
            name_of(model), classes, plane, box, xx, yy, share.reshape(shape), lead.reshape(shape),
            score.reshape(xx.shape) if machine and score is not None else None, points, codes,
            support_rows(model, table.n) if support else np.zeros(0, dtype=np.intp), certain, title,
        ).plot(ax, theme=theme)  # fmt: skip

    @property
    def alt_text(self) -> str:
        axes = self.plane.labels[0] if self.plane.strip else " and ".join(self.plane.labels)
        extra = [f"{len(self.points)} rows"]
        if self.score is not None:
            extra.append("the margins")
        if len(self.support):
            extra.append(f"{len(self.support)} support vectors")
        labels = [str(c) for c in self.classes.tolist()]
        named = ", ".join(labels[:-1]) + f" and {labels[-1]}"
        return f"Decision regions of {self.model} for classes {named} over {axes}, with {joined(extra)}."

    def _draw(self, ax: Axes, look: Theme) -> None:
        self._colour(ax, look)
        self._lines(ax, look)
        self._rows(ax, look)
        ax.set(xlim=self.box[:2], ylim=self.box[2:], xlabel=self.plane.labels[0], ylabel=self.plane.labels[1])
        if self.plane.strip:
            ax.set_yticks(range(len(self.classes)), [str(c) for c in self.classes.tolist()])
        how = " for each class" if self.certain else ", and how surely"
        head(ax, look, self.title or f"Where {self.model} decides{how}", self.plane.caption, self._keys(look))

    def _colour(self, ax: Axes, look: Theme) -> None:
        from matplotlib.colors import to_rgb

        k = len(self.classes)
        winner = self.lead.argmax(axis=2)
        sure = np.clip((self.share.max(axis=2) - 1 / k) / (1 - 1 / k), 0.0, 1.0)
        image = np.empty((*winner.shape, 4))
        image[..., :3] = np.array([to_rgb(c) for c in look.colours[:k]])[winner]
        image[..., 3] = 0.30 if self.certain else FAINT + (STRONG - FAINT) * sure
        ax.imshow(image, extent=self.box, origin="lower", aspect="auto", interpolation="nearest", zorder=0)

    def _lines(self, ax: Axes, look: Theme) -> None:
        def level(heights: FloatArray, levels: list[float], **options: Any) -> Any:
            return ax.contour(
                self.xx, self.yy, heights, levels=levels, colors=[look.ink], zorder=2, **options
            )

        k = len(self.classes)
        leads = [self.lead[..., c] for c in range(1 if k == 2 else 0, k)]
        met = [lead for lead in leads if (lead > 0).any() and (lead <= 0).any()]
        self.boundary_ = [level(lead, [0.0], linewidths=1.7) for lead in met]
        self.margins_ = None
        if self.score is not None and (self.score.min() < 1 and self.score.max() > -1):
            self.margins_ = level(self.score, [-1.0, 1.0], linewidths=1.2, linestyles=[DASHED])

    def _rows(self, ax: Any, look: Theme) -> None:
        crowd = 26 if len(self.points) <= 400 else 12 if len(self.points) <= 3000 else 5
        dots: dict[str, Any] = {"s": crowd, "edgecolors": look.ground, "zorder": 3}
        if self.codes is None:
            ax.scatter(*self.points.T, c=look.muted, marker="o", linewidths=0.5, **dots)
        else:
            for k in np.unique(self.codes):
                at = self.points[self.codes == k].T
                ax.scatter(*at, c=look.colours[k], marker=MARKERS[k], linewidths=0.6, **dots)
        self.rings_ = None
        if len(self.support):
            self.rings_ = ax.scatter(
                *self.points[self.support].T, s=3.2 * crowd, facecolors="none", edgecolors=look.ink,
                linewidths=1.1 if len(self.support) <= 150 else 0.6,
                zorder=4,
            )  # fmt: skip

    def _keys(self, look: Theme) -> list[Any]:
        keys = [
            key(str(c), linestyle="none", marker=MARKERS[k], color=look.colours[k], markersize=6)
            for k, c in enumerate(self.classes.tolist())
        ]
        if self.boundary_:
            keys.append(key("boundary", color=look.ink, linewidth=1.7))
        if self.margins_ is not None:
            keys.append(key("margins f = ±1", color=look.ink, linewidth=1.2, linestyle=DASHED))
        if len(self.support):
            ring = {"linestyle": "none", "marker": "o", "markerfacecolor": "none", "markersize": 9}
            keys.append(key("support vectors", color=look.ink, **ring))
        return keys


def is_margin_machine(model: BaseEstimator) -> bool:
    """Whether f(x) = ±1 means something: a machine that minimises hinges."""
    inner = last_step(model)
    loss = inner.get_params().get("loss") if hasattr(inner, "get_params") else None
    kinds = {c.__name__ for c in type(inner).__mro__}
    return bool(kinds & set(MACHINES)) or hasattr(inner, "support_") or loss in HINGES


def support_rows(model: BaseEstimator, n: int) -> np.ndarray:
    """Places of the support vectors among the n rows of the fit; none where X are others, or there are no such."""
    inner = last_step(model)
    none = np.zeros(0, dtype=np.intp)
    if hasattr(inner, "support_") and hasattr(inner, "support_vectors_"):
        fitted = getattr(inner, "shape_fit_", (n,))[0]
        return np.asarray(inner.support_, dtype=np.intp) if fitted == n else none
    reports = getattr(inner, "reports_", None)
    if not reports or not hasattr(reports[0], "alpha"):
        return none
    found: set[int] = set()
    for report in reports:
        rows = np.arange(len(report.alpha)) if report.rows is None else report.rows
        if report.rows is None and len(report.alpha) != n:
            return none
        found |= set(rows[report.alpha > 1e-8 * max(float(report.alpha.max()), 1e-300)].tolist())
    kept = np.array(sorted(found), dtype=np.intp)
    return kept if len(kept) and kept[-1] < n else none


def _said(
    model: BaseEstimator, rows: Any, classes: np.ndarray, certain: bool
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Codes of what ``predict`` says of some rows, their decision function and their probabilities, if any."""
    scores = np.asarray(model.decision_function(rows)) if hasattr(model, "decision_function") else None
    share = None if certain else np.asarray(model.predict_proba(rows))
    return codes_of(classes, np.asarray(model.predict(rows)), len(rows)), scores, share


def _answers(
    parts: list[tuple[np.ndarray, np.ndarray | None, np.ndarray | None]], classes: np.ndarray, certain: bool
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """(probabilities (m, K), leads (m, K), two-class decision function (m,) or None) of what ``predict`` says."""
    k = len(classes)
    said, scores, probable = (
        None if found[0] is None else np.concatenate(found) for found in zip(*parts, strict=True)
    )
    assert said is not None
    hard = np.eye(k)[said]
    score = None
    if scores is not None and scores.ndim == 1 and k == 2:
        score = scores
        scores = np.column_stack([-scores, scores])
    share = hard if probable is None else probable
    with np.errstate(divide="ignore"):
        logs = None if certain else np.log(np.maximum(share, 1e-300))
    for found in (scores, logs):
        if found is None or found.shape != (len(said), k) or not np.isfinite(found).all():
            continue
        lead = leads(found)
        # a tie may go either way; any other contradiction with predict rules the scores out
        far = np.abs(lead).max(axis=1) > 1e-9 * np.abs(found).max()
        if (lead.argmax(axis=1)[far] == said[far]).all():
            return share, lead, score
    return share, leads(hard), score


def leads(scores: FloatArray) -> FloatArray:
    """Each class's score less the best of the others': (m, K).

    >>> leads(np.array([[1.0, 4.0, 2.0]]))
    array([[-3.,  2., -2.]])
    """
    order = np.sort(scores, axis=1)
    best, second = order[:, -1:], order[:, -2:-1]
    return np.where(scores == best, scores - second, scores - best)


def _box(points: FloatArray, pad: float, strip: bool, k: int) -> tuple[float, float, float, float]:
    known = points[np.isfinite(points).all(axis=1)]
    if not len(known):
        raise ValueError("no row has numbers in both columns drawn: choose others, or fill missing cells")
    low, high = known.min(axis=0), known.max(axis=0)
    room = pad * np.where(high > low, high - low, np.maximum(np.abs(high), 1.0))
    low, high = low - room, high + room
    if strip:
        low[1], high[1] = -0.6, k - 0.4
    return float(low[0]), float(high[0]), float(low[1]), float(high[1])


def _without_tails(
    points: FloatArray, box: tuple[float, float, float, float], pad: float, plane: Plane
) -> tuple[tuple[float, float, float, float], str]:
    """The box without heavy tails of the columns drawn, and what is to be said of that."""
    from separatrix.judge.dependence import ends_of

    out, said = list(box), []
    for i in range(1 if plane.strip else 2):
        known = points[np.isfinite(points[:, i]), i]
        low, high, scale, words = ends_of(known)
        if scale == "log":  # a plane is linear: its tail is cut
            low, high = float(known.min()), float(np.quantile(known, 0.98))
            words = f"to the 98th percentile; the largest is {known.max():.4g}"
        if words:
            room = pad * (high - low)
            out[2 * i : 2 * i + 2] = [low - room, high + room]
            said.append(f"{plane.labels[i]} {words}")
    return (out[0], out[1], out[2], out[3]), f"Axes are cut: {'; '.join(said)}." if said else ""


def _jitter(n: int) -> FloatArray:
    """Offsets in (−0.3, 0.3) that spread points evenly, the same every time."""
    return 0.6 * ((np.arange(n) * 0.6180339887498949) % 1.0) - 0.3
