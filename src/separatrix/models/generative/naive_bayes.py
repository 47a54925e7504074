"""Naive Bayes of tables as they are:  a family of its own for every column  ([726], [6867] 3.1.3; G9).

    log p(x, k) = log π_k + Σ_j log p_j(x_j | θ_kj)

Shapes: X (n, p), K classes. Cost: one sweep, O(np); prediction O(npK).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from typing import Any

import numpy as np
from sklearn.utils import Tags

from separatrix.core.caller import warn
from separatrix.core.families import Family, family
from separatrix.core.numerics import FloatArray
from separatrix.data.checks import is_positive
from separatrix.data.columns import Encoding
from separatrix.data.door import column_name, refuse_infinite
from separatrix.data.estimator import constructor
from separatrix.data.sources import TableLike
from separatrix.models.generative.facts import ClassFacts, PartFacts
from separatrix.models.generative.impossible import Findings
from separatrix.models.generative.naive import Naive
from separatrix.models.generative.parts.counted import BernoulliPart, LevelsPart, Smoothing
from separatrix.models.generative.parts.measured import FamilyPart, NormalPart
from separatrix.models.generative.parts.part import ColumnsPart

# variance over mean beyond which whole numbers (years, prices, codes) are no counts of events
OVERDISPERSED = 3.0
A_LOOK = 1024  # cells of a column that often settle its family


@constructor
class NaiveBayes(Naive):
    """log p(x, k) = log π_k + Σ_j log p_j(x_j | θ_kj), p_j of any exponential family ([726], [6867] 3.1.3, G9).

    ``families="auto"`` chooses by the column's type and the support of its values in training:

        words, categories            categorical     whole numbers, none negative, spread as counts are    poisson
        booleans, or only 0 and 1    bernoulli       all inside (0, 1)                                     beta
        all positive                 gamma           any other number                                      gaussian

    or a mapping {column: family} for some columns (name or index), or a list, one for every column; a family is
    "gaussian", "poisson", … or a Family.

    Parameters
    ----------
    families : "auto", a mapping or a list
    priors : (K,), default the classes' shares
    alpha : virtual rows of every level in every class (categorical, bernoulli), and of the column's mean in a class
        of nothing but zeros (poisson, exponential). A level unseen in training is legal at prediction and has the
        probability of a level seen no times, α / (n_kj + α L_j)
    var_smoothing : share of a normal column's own variance added to its variances (GaussianNB's, as scikit-learn's,
        is a share of the largest column's)
    em_tol, em_max_iter : for rows without a label
    class_weight : None, "balanced" or {class: weight}, times the weights of the rows

    Attributes: families_ (a name for each column), parameters_ (a dict for each column, arrays over classes),
    levels_ (of each column, empty for numbers), class_prior_, classes_, verdict_. parameters_ and class_prior_ are
    the state: edits of them predict. A missing cell is left out.

    Examples
    --------
    >>> rows = [["sunny", "warm", 3], ["sunny", "warm", 4], ["rainy", "cold", 1], ["sunny", None, 5]]
    >>> model = NaiveBayes().fit(rows, ["yes", "yes", "no", "yes"])
    >>> model.families_, model.predict([["snowy", "warm", 2]]).tolist()
    (['categorical', 'categorical', 'poisson'], ['yes'])
    """

    families: Any = "auto"
    priors: Any = None
    alpha: float = 1.0
    var_smoothing: float = 1e-9
    em_tol: float = 1e-6
    em_max_iter: int = 500
    class_weight: Any = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.families, (Mapping, list, tuple)) and self.families != "auto":
            raise ValueError(
                f'families must be "auto", a mapping from column to family or a list, got {self.families!r}'
            )
        for column, chosen in self._wanted().items():
            if family(chosen).multivariate:
                name = family(chosen).name
                raise ValueError(
                    f"column {column!r}: {name} is a family of whole rows; see GenerativeClassifier"
                )
        for name in ("alpha", "var_smoothing"):
            value = getattr(self, name)
            if not (is_positive(value, finite=True) or (not isinstance(value, bool) and value == 0)):
                raise ValueError(f"{name} must be a number, 0 or more, got {value!r}")

    def _read(self, X: TableLike, *, reset: bool) -> np.ndarray:
        known = None if reset else self._encoding
        self._encoding: Encoding = Encoding.learn(self, X) if known is None else known.extended(self, X)
        cells = self._encoding.encode(self, X)
        refuse_infinite(self, cells)
        if reset:
            self._choose(cells)
        # those of a fit that may be refused stay as they are
        self._parts = [copy(part) for part in self._parts]
        for part in self._parts:
            if isinstance(part, LevelsPart):
                part.least = [max(1, len(self._encoding.columns[j].levels)) for j in part.columns]
        self.levels_ = [c.levels for c in self._encoding.columns]
        self._refuse_cells(cells, 0)
        return cells

    def _read_for_prediction(self, X: TableLike) -> np.ndarray:
        cells = self._encoding.encode(self, X)
        refuse_infinite(self, cells)
        found = list(self._outside(cells))
        for part, wrong in found:
            wrong[:, self._given] = False  # there the family was the user's word: refused below
            if wrong.any():
                i, j = (int(v[0]) for v in np.nonzero(wrong))
                what = f"column {column_name(self, j)}, row {i} holds {cells[i, j].item()!r}"
                warn(
                    f"{what}, which {part.family.name}, chosen by the training values, does not allow: left out, as "
                    f"a missing cell is ({int(wrong.sum())} in all); name a family for the column (families={{…}})",
                )
                cells = np.where(wrong, np.nan, cells)
        if found:
            self._refuse_cells(cells, 0)
        return cells

    def _wanted(self) -> dict[Any, Any]:
        """The families the user named, by column."""
        if isinstance(self.families, Mapping):
            return dict(self.families)
        return dict(enumerate(self.families)) if isinstance(self.families, (list, tuple)) else {}

    def _choose(self, cells: np.ndarray) -> None:
        """A family for every column, and a part for every family."""
        given = self._wanted()
        names = [c.name for c in self._encoding.columns]
        if isinstance(self.families, (list, tuple)) and len(given) != len(names):
            raise ValueError(
                f"families lists {len(given)} families for {len(names)} columns: give one for each"
            )
        for column in given:
            if column not in names and column not in range(len(names)):
                raise ValueError(f"families names column {column!r}, which the table does not have")
        chosen: list[Family] = []
        for j, column in enumerate(self._encoding.columns):
            automatic = "categorical" if column.kind == "category" else _by_support(cells[:, j], column.kind)
            chosen.append(family(given.get(column.name, given.get(j, automatic))))
            if column.kind == "category" and chosen[j].name != "categorical":
                raise ValueError(
                    f"column {column_name(self, j)} holds words: {chosen[j].name} is a family of numbers"
                )
        self.families_ = [f.name for f in chosen]
        self._given = np.array([n in given or j in given for j, n in enumerate(names)], dtype=bool)
        laplace = Smoothing(self.alpha, True, None, "dirichlet")
        self._parts = []
        for f in dict.fromkeys(chosen):
            part: ColumnsPart
            match f.name:
                case "categorical":
                    part = LevelsPart(laplace, 1)
                case "bernoulli":
                    part = BernoulliPart(laplace, None)
                case "gaussian" if getattr(f, "variance", None) is None:
                    part = NormalPart("none", self.var_smoothing)
                case _:
                    part = FamilyPart(f, self.alpha)
            part.columns, part.family = np.flatnonzero([g == f for g in chosen]), f
            self._parts.append(part)

    def _refuse_cells(self, cells: np.ndarray, start: int) -> None:
        for part, wrong in self._outside(cells):
            wanted = "a level 0, 1, 2, …" if part.family.name == "categorical" else part.family.support
            self._refuse_where(wrong, cells, start, f"{wanted}, as {part.family.name} needs")

    def _outside(self, cells: np.ndarray) -> Iterator[tuple[ColumnsPart, np.ndarray]]:
        """Which cells lie outside the support of their column's family, family by family where there are any."""
        for part in self._parts:
            mine = cells if len(part.columns) == cells.shape[1] else cells[:, part.columns]
            words = part.family.name == "categorical"
            fractions = (np.floor(mine) != mine) & (mine == mine) if words else part.family.outside(mine)
            if fractions.any():
                wrong = np.zeros(cells.shape, dtype=bool)
                wrong[:, part.columns] = fractions
                yield part, wrong

    def _join(self, other: Any) -> ClassFacts:
        """Levels of both models side by side; the other's facts in the new numbering."""
        if self.families_ != other.families_:
            raise ValueError(f"cannot merge: families are {self.families_} here and {other.families_} there")
        merged = self._encoding.merged(other._encoding)
        found = []
        for model in (self, other):
            places = merged.recode(model._encoding)
            parts = zip(model._parts, model._facts_seen.of_x.parts, strict=True)
            moved = tuple(
                s.recode([places[j] for j in p.columns]) if hasattr(s, "recode") else s for p, s in parts
            )
            found.append(ClassFacts(model._facts_seen.weight, PartFacts(moved)))
        self._encoding, self._facts_seen = merged, found[0]
        self.levels_ = [c.levels for c in merged.columns]
        return found[1]

    def _solve(self, facts: ClassFacts, findings: Findings) -> tuple[float, float]:
        for part in self._parts:
            mine = np.isin(np.arange(len(self.families_)), part.columns)
            findings.append(f"{part.family.name}: {self._columns(mine)}")
        return super()._solve(facts, findings)

    def _publish(self) -> None:
        self.parameters_: list[Any] = [None] * len(self.families_)
        for part in self._parts:
            for i, j in enumerate(part.columns.tolist()):
                self.parameters_[j] = part.parameters(i)

    def _live_parts(self) -> list[Any]:
        return [part.at_parameters([self.parameters_[j] for j in part.columns]) for part in self._parts]

    def _draw(self, k: int, n: int, rng: np.random.Generator) -> np.ndarray:
        words = any(self.levels_)
        out = np.empty((n, len(self.families_)), dtype=object if words else np.float64)
        for part in self._parts:
            out[:, part.columns] = part.draw(k, n, rng)
        if words:
            for j, column in enumerate(self._encoding.columns):
                whole = column.kind == "whole" and self.families_[j] in ("poisson", "categorical")
                kind = bool if column.kind == "boolean" else int if whole else float
                levels = column.levels
                out[:, j] = [levels[int(v)] if levels else kind(v) for v in out[:, j]]
        discrete = {"poisson", "bernoulli", "categorical"}
        whole = all(c.kind in ("whole", "boolean") for c in self._encoding.columns)
        return out.astype(np.int64) if whole and discrete.issuperset(self.families_) else out

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.classifier_tags.poor_score = True
        return tags


def _by_support(column: FloatArray, kind: str) -> str:
    """The family of a numeric column, from its type and values."""
    if kind != "boolean" and (column[:A_LOOK] < 0).any():
        return "gaussian"  # no other family has negative numbers, whatever the rest of the column holds
    seen = column[~np.isnan(column)]
    if kind == "number" and 0 < len(seen) < len(column) and (seen == np.floor(seen)).all():
        kind = "whole"  # pandas stores whole numbers beside an empty cell as fractions
    if kind == "boolean" or (len(seen) and ((seen == 0.0) | (seen == 1.0)).all()):
        return "bernoulli"
    if len(seen) and kind == "whole" and seen.min() >= 0 and seen.var() <= OVERDISPERSED * seen.mean():
        return "poisson"
    if len(seen) and np.ptp(seen) > 0 and seen.min() > 0:
        return "beta" if seen.max() < 1 else "gamma"
    return "gaussian"
